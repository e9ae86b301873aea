"""The service under load: reading a score, taking runs in, and paging through a million of them.

Reading is measured with wrk against a bare FastAPI route that reads one row of the same database in a server with the
same settings; ids are drawn at random, rounds are interleaved and ratios taken per round.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from tests.postgres_server import new_database
from tests.postgres_server import serve as serve_postgres
from tests.web.server import Served, serving

from benchmarks import service_ingest, service_lists
from benchmarks.measure import cpu_of, median, span, table
from benchmarks.service_store import WORKSPACE, fill, name_of
from steelyard.store.database import open_store

FEW = 1_000
BARE = """
import sys
import uvicorn
from fastapi import FastAPI
from sqlalchemy import create_engine, text

engine = create_engine(sys.argv[1].replace("postgresql://", "postgresql+psycopg://"))
app = FastAPI()
QUERY = text("SELECT run_id, score, tier FROM agent_run_scores WHERE run_id = :id ORDER BY version DESC")

@app.get("/v1/runs/{run_id}/score")
def score(run_id: str):
    with engine.connect() as connection:
        return dict(connection.execute(QUERY, {"id": run_id}).mappings().first())

uvicorn.run(app, port=int(sys.argv[2]), http="h11", log_level="warning", access_log=False)
"""
LUA = """
math.randomseed(7)
request = function()
  return wrk.format("GET", string.format("/v1/runs/many-%%08d/score", math.random(0, %d)))
end
"""


def main(argv: list[str]) -> None:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement with wrk")
    parser.add_argument("--ingest-s", type=float, default=10.0)
    parser.add_argument("--pages", type=int, default=3_000, help="of one walk through a list, at most")
    parser.add_argument("--databases", nargs="+", default=["SQLite", "PostgreSQL"])
    parser.add_argument("--only", nargs="+", default=["score", "ingest", "lists"])
    options = parser.parse_args(argv)
    if "score" in options.only and shutil.which("wrk") is None:
        print("wrk is missing, reading scores is not measured; get it: apt-get install wrk", file=sys.stderr)
        print("wrk was not installed: reading a score was not measured.\n")
        options.only = [part for part in options.only if part != "score"]
    with tempfile.TemporaryDirectory(prefix="steelyard-service-") as folder, ExitStack() as stack:
        for database in options.databases:
            server = stack.enter_context(serve_postgres()) if database == "PostgreSQL" else None
            print(f"### {database}\n")
            _measure(Path(folder, database), server, options)


def _measure(folder: Path, server: str | None, options: argparse.Namespace) -> None:
    folder.mkdir()
    with ExitStack() as stack:
        if "ingest" in options.only:
            print(_ingest_table(folder, server, options) + "\n")
        if {"score", "lists"} & set(options.only):
            few = stack.enter_context(_filled(folder / "few", server, FEW))
            many = stack.enter_context(_filled(folder / "many", server, options.runs))
            if "score" in options.only:
                print(_score_table(few, many, options) + "\n")
            if "lists" in options.only:
                print(_list_table(many, options) + "\n")


@dataclass(frozen=True)
class Filled:
    """A server over a store with so many runs, and a token of it."""

    served: Served
    token: str
    url: str
    count: int


@contextmanager
def _filled(home: Path, server: str | None, count: int) -> Iterator[Filled]:
    home.mkdir()
    with ExitStack() as stack:
        store = stack.enter_context(new_database(server, f"runs_{count}")) if server else None
        url = store or f"sqlite:///{home / 'steelyard.db'}"
        with open_store(url, home / "artifacts") as opened:
            fill(opened, count)
        served = stack.enter_context(serving(home, "--rate", "0", store=store))
        yield Filled(served, served.token(WORKSPACE, "read"), url, count)


def _score_table(few: Filled, many: Filled, options: argparse.Namespace) -> str:
    found: dict[str, list[Load]] = {"few": [], "bare": [], "many": [], "bare many": []}
    with _bare(few.url, 8392) as bare, _bare(many.url, 8393) as bare_many:
        for _ in range(options.rounds):
            found["few"].append(_wrk(few.served.url, few.served.process.pid, few, options.seconds))
            found["bare"].append(_wrk(*bare, few, options.seconds))
            found["many"].append(_wrk(many.served.url, many.served.process.pid, many, options.seconds))
            found["bare many"].append(_wrk(*bare_many, many, options.seconds))
    ours = [mine.rate / theirs.rate for mine, theirs in zip(found["few"], found["bare"], strict=True)]
    ours_many = [mine.rate / theirs.rate for mine, theirs in zip(found["many"], found["bare many"], strict=True)]
    kept = [late.rate / early.rate for early, late in zip(found["few"], found["many"], strict=True)]
    route = "`GET /v1/runs/{id}/score`"
    rows = [
        [f"{route}, {few.count:,} runs", *_cells(found["few"]), f"{span(ours)} × bare (at least 0.7)"],
        [f"a bare FastAPI route, one row, {few.count:,} runs", *_cells(found["bare"]), ""],
        [f"{route}, {many.count:,} runs", *_cells(found["many"]), f"{span(ours_many)} × bare (at least 0.7)"],
        [f"a bare FastAPI route, one row, {many.count:,} runs", *_cells(found["bare many"]), ""],
        [f"{few.count:,} → {many.count:,} runs", "", "", "", f"{span(kept)} of the rate is left (at least 0.8)"],
    ]
    head = "Reading a score: wrk with 8 connections, random ids, one worker, a token checked at every request."
    return f"{head}\n\n{table(['what', 'requests/s', 'p99 ms', 'CPU ms a request', 'ratio'], rows)}"


@dataclass(frozen=True)
class Load:
    """What a server bore: requests a second, their p99, and the processor time of each."""

    rate: float
    p99_ms: float
    cpu_ms: float


def _cells(found: list[Load]) -> list[str]:
    rate, p99, cpu = (median([getattr(one, name) for one in found]) for name in ("rate", "p99_ms", "cpu_ms"))
    return [f"{rate:,.0f}", f"{p99:.1f}", f"{cpu:.2f}"]


def _ingest_table(folder: Path, server: str | None, options: argparse.Namespace) -> str:
    rows = []
    for workers in (1, 2):
        with ExitStack() as stack:
            store = stack.enter_context(new_database(server, f"ingest_{workers}")) if server else None
            done = service_ingest.ingest(folder / f"ingest-{workers}", store, options.ingest_s, workers)
        for line in done.wrong[:5]:
            print(f"WRONG: {line}")
        exact = "nothing lost or doubled, every score exact" if not done.wrong else f"{len(done.wrong)} WRONG"
        rows.append([workers, f"{done.sent:,}", f"{done.rate:,.0f} (at least 500)", f"{done.cpu_ms:.2f}", exact])
    clients = service_ingest.CLIENTS
    head = f"Taking runs in: {clients} clients, one run a request, one workspace; scores computed again offline."
    return f"{head}\n\n{table(['workers', 'runs', 'runs/s', 'CPU ms a run', 'afterwards'], rows)}"


def _list_table(many: Filled, options: argparse.Namespace) -> str:
    rows = []
    for filters in service_lists.FILTERS:
        done = service_lists.walk(many.served, many.token, filters, options.pages)
        named = ", ".join(f"{name} {value}" for name, value in filters.items())
        times = [
            f"{done.first_ms:.1f}",
            f"{done.first_p99_ms:.1f}",
            f"{done.p99_ms:.1f}",
            f"{done.ratio:.2f} (under 3)",
        ]
        rows.append([named, f"{done.pages:,}", f"{done.rows:,}", *times])
    head = f"Lists: pages of 50 out of {many.count:,} runs, two filters, all pages one after the other."
    columns = ["filters", "pages", "runs", "first page p50 ms", "its p99 ms", "all pages p99 ms", "ratio"]
    return f"{head}\n\n{table(columns, rows)}"


@contextmanager
def _bare(url: str, port: int) -> Iterator[tuple[str, int]]:
    """The floor, until the block ends: its address and its process."""
    process = subprocess.Popen([sys.executable, "-c", BARE, url, str(port)])
    try:
        address = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"{address}/v1/runs/{name_of(0)}/score").raise_for_status()
                break
            except httpx.TransportError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait(30)


def _wrk(url: str, pid: int, filled: Filled, seconds: int) -> Load:
    """Ask for random scores for a while."""
    before = cpu_of(pid)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(LUA % (filled.count - 1))
        script.flush()
        headers = ["-H", f"Authorization: Bearer {filled.token}"]
        command = ["wrk", "-t1", "-c8", f"-d{seconds}s", "--latency", "-s", script.name, *headers, url]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    spent = cpu_of(pid) - before
    assert "Non-2xx" not in said, said
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    count = re.search(r"(\d+) requests in", said)
    assert rate is not None, said
    assert p99 is not None, said
    assert count is not None, said
    p99_ms = float(p99[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[p99[2]]
    return Load(float(rate[1]), p99_ms, 1000 * spent / int(count[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
