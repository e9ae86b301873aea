"""The web pages: server time with few and many runs, bytes sent, and the time to the first row in a browser.

The server is a real process on a real store; times are medians over interleaved requests. The floor of the browser's
time is a plain static HTML table of the same rows on the same machine, read from disk.
"""

import argparse
import http.server
import re
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

from benchmarks.measure import table
from steelyard.store.database import open_store

RUN = f"/runs/{name_of(500)}"
PAGES = (
    ("runs, newest", "/runs"),
    ("runs of an arm", "/runs?workspace=many&arm=plain"),
    ("runs by cost", "/runs?workspace=many&sort=cost"),
    ("runs by composite", "/runs?workspace=many&sort=composite&dir=asc"),
    ("runs by score, filtered", "/runs?workspace=many&arm=plain&verdict=FAIL&sort=score"),
    ("runs of a week", "/runs?workspace=many&since=2026-01-08&until=2026-01-15"),
    ("runs, searched", "/runs?workspace=many&q=task-3"),
    ("disagreements", "/runs?workspace=many&disagree=1"),
    ("one run", RUN),
    ("one run, diff", f"{RUN}/diff"),
    ("one run, stages", f"{RUN}/stages"),
    ("one run, files", f"{RUN}/files"),
    ("workspaces", "/workspaces?until=2026-01-28"),
    ("one workspace", "/workspaces/many?until=2026-01-28"),
    ("scenarios", "/scenarios"),
    ("one scenario", "/scenarios/calc-fix?workspace=many"),
    ("one task", "/tasks/off-by-one?workspace=many"),
    ("tokens", "/tokens"),
    ("experiments", "/experiments"),
    ("one experiment", "/experiments/exp_mixed"),
    ("compare", "/compare?experiment=exp_mixed"),
)
FEW, LIMIT, MOST_BYTES, MOST_RATIO = 1_000, 1.5, 150_000, 2.0
HTML = {"Accept": "text/html", "Accept-Encoding": "gzip"}
SCENARIO = {
    "name": "calc-fix",
    "workspace": "many",
    "seed": {"directory": "fixtures/calc"},
    "scorers": [{"name": f"check {n}", "type": "command", "command": "pytest -q"} for n in range(10)],
}
TASK = {"id": "off-by-one", "workspace": "many", "scenario": "calc-fix", "prompt": "Fix it."}


def main(argv: list[str]) -> None:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="steelyard-pages-") as folder, ExitStack() as stack:
        few = stack.enter_context(serving(_store(Path(folder, "few"), FEW), "--rate", "0"))
        many = stack.enter_context(serving(_store(Path(folder, "many"), options.runs), "--rate", "0"))
        for served in (few, many):
            with served.client() as client:
                client.post("/v1/scenarios", json=SCENARIO).raise_for_status()
                client.post("/v1/tasks", json=TASK).raise_for_status()
        _server_times(few, many, options.runs, options.rounds)
        _bytes(many)
        _first_row(many, Path(folder), options.rounds)


def _store(home: Path, count: int) -> Path:
    home.mkdir()
    with open_store(f"sqlite:///{home / 'steelyard.db'}", home / "artifacts") as store:
        add_many(store, count)
        add_weighed(store)
    return home


def _server_times(few: Served, many: Served, count: int, rounds: int) -> None:
    """Requests in turns to both servers; the ratio is that of the medians."""
    rows = []
    with few.client() as one, many.client() as other:
        for title, address in PAGES:
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(rounds + 2):
                for client, spent in zip((one, other), times, strict=True):
                    begun = time.perf_counter()
                    assert client.get(address, headers=HTML).status_code == 200, address
                    spent.append(1000 * (time.perf_counter() - begun))
            small, large = (statistics.median(spent[2:]) for spent in times)
            rows.append((title, f"{small:.1f}", f"{large:.1f}", f"{large / small:.2f}"))
    print(table(["page", f"ms with {FEW:,} runs", f"ms with {count:,} runs", f"ratio (limit {LIMIT})"], rows))


def _bytes(served: Served) -> None:
    """What a browser loads that comes for the first time: the page, and the style sheet and scripts that it names."""
    rows = []
    with served.client() as client:
        for title, address in PAGES:
            page = client.get(address, headers=HTML).text
            named = re.findall(r'(?:src|href)="(/static/[^"]*)"', page)
            rows.append((title, f"{_sent(client, address) + sum(_sent(client, one) for one in named):,}"))
    print("\n" + table(["page", f"bytes compressed, with CSS and JS (limit {MOST_BYTES:,})"], rows))


def _sent(client: httpx.Client, address: str) -> int:
    with client.stream("GET", address, headers=HTML) as answer:
        return sum(len(piece) for piece in answer.iter_raw())


def _first_row(served: Served, folder: Path, rounds: int) -> None:
    """The page and a bare table of the same rows, loaded in turns by one browser."""
    from playwright.sync_api import sync_playwright

    with served.client() as client, sync_playwright() as driver:
        page = client.get("/runs", headers=HTML).text
        rows_only = page[page.index("<tbody>") : page.index("</tbody>")]
        (folder / "plain.html").write_text(f"<!doctype html><title>runs</title><table>{rows_only}</tbody></table>")
        with _static(folder) as floor:
            browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            tab = browser.new_page()
            spent: dict[str, list[float]] = {}
            for _ in range(rounds + 2):
                for name, address in (("page", f"{served.url}/runs"), ("plain", f"{floor}/plain.html")):
                    spent.setdefault(name, []).append(_row_ms(tab, address))
            browser.close()
    ours, plain = (statistics.median(spent[name][2:]) for name in ("page", "plain"))
    rows = [("a static table of the same rows", f"{plain:.0f}", "1")]
    rows.append(("the page of runs", f"{ours:.0f}", f"{ours / plain:.2f}"))
    print("\n" + table(["first row in Chromium", "ms", f"ratio (limit {MOST_RATIO:g})"], rows))


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
