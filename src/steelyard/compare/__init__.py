"""Statistics and decisions over paired runs: pure, seeded by an argument."""
