"""The language-model judge: evidence in, a verdict out; it never breaks a run."""
