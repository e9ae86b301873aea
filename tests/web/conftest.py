"""One server for the tests that only read and add to it; each test writes into a workspace of its own."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import httpx
import pytest

from steelyard.store.database import Store
from tests.web.server import Served, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with tokens (so nobody gets in without one) and a limit on bodies of 1 MB."""
    with serving(tmp_path_factory.mktemp("served") / "home", "--max-body-mb", "1", "--rate", "0") as started:
        started.token("somebody", "admin")
        yield started


@pytest.fixture
def workspace() -> str:
    """A workspace's name that no other test uses."""
    return f"w-{uuid4().hex[:12]}"


@pytest.fixture
def enter(served: Served, workspace: str) -> Iterator[Callable[..., httpx.Client]]:
    """Clients with a new token of this test's workspace, or of another."""
    opened: list[httpx.Client] = []

    def make(scope: str = "admin", of: str | None = None, expires_at: str | None = None) -> httpx.Client:
        opened.append(served.client(served.token(of or workspace, scope, expires_at)))
        return opened[-1]

    yield make
    for client in opened:
        client.close()


@pytest.fixture
def store(served: Served) -> Iterator[Store]:
    """The server's store, opened beside it."""
    with served.open_store() as opened:
        yield opened
