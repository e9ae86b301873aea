"""Builds what commands use from settings: the only module that names concrete classes."""
