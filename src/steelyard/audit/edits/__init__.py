"""How tests are weakened, skipped and taken out, by language."""
