"""Deterministic graders: one file a type."""
