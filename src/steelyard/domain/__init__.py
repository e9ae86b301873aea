"""The nouns: frozen records that are stored, sent and compared. No I/O, no clock, no randomness."""
