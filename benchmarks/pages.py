"""The web pages: server time with few and many runs, bytes sent, and the time to the first row in a browser.

The server is a real process on a real store; times are medians over interleaved requests. The floor of the browser's
time is a plain static HTML table of the same rows from the same server process's machine, read from disk.
"""

import argparse
import http.server
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
from tests.web.pages.many import add_many, name_of
from tests.web.pages.weighed import add_weighed
from tests.web.server import Served, serving

from steelyard.store.database import open_store

PAGES = (
    ("runs, newest", "/runs"),
    ("runs of an arm", "/runs?workspace=many&arm=plain"),
    ("runs by cost", "/runs?workspace=many&sort=cost"),
    ("runs by score, filtered", "/runs?workspace=many&arm=plain&verdict=FAIL&sort=score"),
    ("disagreements", "/runs?workspace=many&disagree=1"),
    ("one run", f"/runs/{name_of(500)}"),
    ("one run, files", f"/runs/{name_of(500)}/files"),
    ("experiments", "/experiments"),
    ("one experiment", "/experiments/exp_mixed"),
    ("compare", "/compare?experiment=exp_mixed"),
)
FEW, LIMIT, MOST_BYTES, MOST_RATIO = 1_000, 1.5, 150_000, 2.0
HTML = {"Accept": "text/html", "Accept-Encoding": "gzip"}


def main(argv: list[str]) -> None:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="steelyard-pages-") as folder, ExitStack() as stack:
        few = stack.enter_context(serving(_store(Path(folder, "few"), FEW), "--rate", "0"))
        many = stack.enter_context(serving(_store(Path(folder, "many"), options.runs), "--rate", "0"))
        _server_times(few, many, options.runs, options.rounds)
        _bytes(many)
        _first_row(many, Path(folder), options.rounds)


def _store(home: Path, count: int) -> Path:
    home.mkdir()
    with open_store(f"sqlite:///{home / 'steelyard.db'}", home / "artifacts") as store:
        add_many(store, count)
        add_weighed(store, "hostile")
    return home


def _server_times(few: Served, many: Served, count: int, rounds: int) -> None:
    print(
        f"| page | ms with {FEW:,} runs | ms with {count:,} runs | ratio (limit {LIMIT}) |\n| --- | --- | --- | --- |"
    )
    with few.client() as one, many.client() as other:
        for title, address in PAGES:
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(rounds + 2):
                for client, spent in zip((one, other), times, strict=True):
                    begun = time.perf_counter()
                    assert client.get(address, headers=HTML).status_code == 200
                    spent.append(1000 * (time.perf_counter() - begun))
            small, large = (statistics.median(spent[2:]) for spent in times)
            print(f"| {title} | {small:.1f} | {large:.1f} | {large / small:.2f} |")


def _bytes(served: Served) -> None:
    print(f"\n| page | bytes compressed, with CSS and JS (limit {MOST_BYTES:,}) |\n| --- | --- |")
    with served.client() as client:
        statics = sum(
            _sent(client, f"/static/{name}") for name in ("app.css", "app.js", "diff.js", "live.js", "icon.svg")
        )
        for title, address in PAGES:
            print(f"| {title} | {statics + _sent(client, address):,} |")


def _sent(client: httpx.Client, address: str) -> int:
    with client.stream("GET", address, headers=HTML) as answer:
        return sum(len(piece) for piece in answer.iter_raw())


def _first_row(served: Served, folder: Path, rounds: int) -> None:
    """The page and a bare table of the same rows, loaded in turns by one browser."""
    from playwright.sync_api import sync_playwright

    with served.client() as client, sync_playwright() as driver:
        page = client.get("/runs", headers=HTML).text
        table = page[page.index("<tbody>") : page.index("</tbody>")]
        (folder / "plain.html").write_text(f"<!doctype html><title>runs</title><table>{table}</tbody></table>")
        with _static(folder) as floor:
            browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            tab = browser.new_page()
            spent: dict[str, list[float]] = {}
            for _ in range(rounds + 2):
                for name, address in (("page", f"{served.url}/runs"), ("plain", f"{floor}/plain.html")):
                    spent.setdefault(name, []).append(_row_ms(tab, address))
            browser.close()
    ours, plain = (statistics.median(spent[name][2:]) for name in ("page", "plain"))
    print(f"\n| first row in Chromium | ms |\n| --- | --- |\n| a static table of the same rows | {plain:.0f} |")
    print(f"| the page | {ours:.0f} ({ours / plain:.2f} ×, limit {MOST_RATIO:g} ×) |")


def _row_ms(tab: Any, address: str) -> float:
    begun = time.perf_counter()
    tab.goto(address, wait_until="commit")
    tab.wait_for_selector("tbody tr")
    return 1000 * (time.perf_counter() - begun)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a word."""

    def log_message(self, *_words: Any) -> None:
        """Say nothing."""


class _static:  # noqa: N801  # a context manager that reads as a function
    """A static file server for the block."""

    def __init__(self, folder: Path) -> None:
        def handler(*given: Any) -> _Quiet:
            return _Quiet(*given, directory=str(folder))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self) -> str:
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_error: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


if __name__ == "__main__":
    main(sys.argv[1:])
