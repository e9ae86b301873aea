"""Reads and writes other formats, one file a format."""
