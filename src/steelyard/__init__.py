"""Steelyard weighs coding agents."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`steelyard.Client` and `steelyard.AsyncClient`, loaded when they are first asked for."""
    if name in ("AsyncClient", "Client"):
        return getattr(import_module("steelyard.client"), name)
    raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
