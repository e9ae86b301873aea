"""Test integrity: whether a change switches tests off or makes them assert less."""
