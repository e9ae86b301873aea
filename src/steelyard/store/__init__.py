"""The database and the artifacts beside it."""
