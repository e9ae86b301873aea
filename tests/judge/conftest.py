"""The judge's tests share the shop of the end-to-end tests."""

from tests.e2e.conftest import shop

__all__ = ["shop"]
