"""A new store of each kind, and a receiver."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.store.database import Store, open_store
from tests.events.support import Receiver, receiving

KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver on loopback."""
    with receiving() as made:
        yield made


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new, empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'steelyard.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    """A new store."""
    with open_store(url, tmp_path / "artifacts") as opened:
        yield opened
