"""A server on a world of runs, and a browser that tells of everything that went wrong in it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.web.pages.world import make_world
from tests.web.server import Served, serving


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without tokens, on this machine only."""
    home = tmp_path_factory.mktemp("pages") / "home"
    make_world(home)
    with serving(home, "--rate", "0") as started:
        yield started


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """The installed browser; it ends with this package's tests, because its event loop must not meet others."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def look(pages: Served, chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens tabs; `tab.wrongs` collects errors, dialogs and refusals of the security policy."""
    contexts = []

    def make(**options: Any) -> Any:
        context = chromium.new_context(**{"base_url": pages.url, "timezone_id": "UTC", **options})
        context.set_default_timeout(60_000)
        contexts.append(context)
        tab = context.new_page()
        tab.wrongs = []
        tab.on("pageerror", lambda error: tab.wrongs.append(f"error: {error}"))
        tab.on("console", lambda said: tab.wrongs.append(said.text) if _is_wrong(said) else None)
        tab.on("dialog", lambda dialog: (tab.wrongs.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        return tab

    yield make
    for context in contexts:
        context.close()


def _is_wrong(said: Any) -> bool:
    """Errors of the page; that a 404 page has the status 404 is none."""
    return said.type == "error" and "Failed to load resource" not in said.text
