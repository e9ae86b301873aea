"""Proposes a winning change as a pull request."""
