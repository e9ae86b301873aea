"""Pure formulas: facts in, numbers out; no I/O, no clock."""
