"""A directory of its own for each test."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """An empty directory to work in."""
    return Shop(tmp_path)
