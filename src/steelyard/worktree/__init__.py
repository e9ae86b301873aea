"""The tree an agent works in, and the grader's own git beside it."""
