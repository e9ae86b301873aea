"""Steelyard weighs coding agents."""

__version__ = "0.1.0"
