"""Ingest: eight clients send runs one by one; nothing may be lost or doubled, and every score must be exact."""

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.web.server import Served, serving

from benchmarks.measure import cpu_of
from steelyard.formulas.scorecard import facts_of, score_run
from steelyard.store.database import Store
from steelyard.store.reads import RunFilter

CLIENTS = 8
WORKSPACE = "ingest"
_PAGE = 1_000


@dataclass(frozen=True)
class Ingested:
    """How quickly runs came in, and what was wrong with them afterwards."""

    sent: int
    seconds: float
    cpu_ms: float
    wrong: tuple[str, ...]

    @property
    def rate(self) -> float:
        """Runs a second."""
        return self.sent / self.seconds


def ingest(home: Path, store: str | None, seconds: float, workers: int) -> Ingested:
    """Send for a while, then look at what the store has."""
    with serving(home, "--rate", "0", "--workers", str(workers), store=store) as served:
        token = served.token(WORKSPACE, "write")
        asyncio.run(_send_all(served, token, 0.5, "warm"))  # connections, compiled statements
        begun, before = time.perf_counter(), cpu_of(served.process.pid)
        sent = asyncio.run(_send_all(served, token, seconds, "run"))
        spent, used = time.perf_counter() - begun, cpu_of(served.process.pid) - before
        with served.open_store() as opened:
            return Ingested(len(sent), spent, 1000 * used / len(sent), tuple(_wrong(opened, sent)))


async def _send_all(served: Served, token: str, seconds: float, prefix: str) -> set[str]:
    end = time.monotonic() + seconds
    found = await asyncio.gather(*[_send(served, token, end, f"{prefix}-{n}") for n in range(CLIENTS)])
    return {name for names in found for name in names}


async def _send(served: Served, token: str, end: float, prefix: str) -> list[str]:
    """One client on one connection, as plain as can be: what is measured is the server."""
    address = urlsplit(served.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    confirmed: list[str] = []
    while time.monotonic() < end:
        number = len(confirmed)
        name = f"{prefix}-{number}"
        body = json.dumps(_run(name, number)).encode()
        head = (
            f"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answered = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in answered.lower().split(b"\r\n") if line.startswith(b"content-length"))
        said = await reader.readexactly(int(length.partition(b":")[2]))
        if not answered.startswith(b"HTTP/1.1 201"):
            raise SystemExit(f"{name}: {answered[:60]!r} {said[:300]!r}")
        confirmed.append(name)
    writer.close()
    return confirmed


def _run(name: str, number: int) -> dict[str, Any]:
    return {
        "run_id": name,
        "outcome": ("COMPLETED", "COMPLETED", "COMPLETED", "BLOCKED")[number % 4],
        "wall_s": 10.0 + number % 17,
        "task_id": f"task-{number % 10}",
        "arm": ("plain", "with_skill")[number % 2],
        "stages": [{"name": "lint", "passed": True}, {"name": "test", "passed": True, "attempts": 1 + number % 2}],
        "scorers": [{"name": "unit tests", "verdict": "PASS"}],
        "resources": {"peak_memory_mb": 100.0, "memory_limit_mb": 1000.0},
        "usage": {"input_tokens": 100, "output_tokens": 20, "cost_usd": 0.01},
    }


def _wrong(store: Store, sent: set[str]) -> list[str]:
    """What is missing or twice, and every score that its predecessors in stored order do not make."""
    rows = _all_rows(store)
    names = [row["run_id"] for row in rows]
    wrong = [f"{name} is missing" for name in sorted(sent - set(names))]
    if len(names) != len(set(names)):
        wrong.append("a run is stored twice")
    history: list[float] = []
    for row in rows:
        stored = store.run(row["run_id"])
        if stored.scorecard != score_run(facts_of(stored.run, history[-20:])) or len(stored.scores) != 1:
            wrong.append(f"the score of {row['run_id']} is not exact")
        if row["outcome"] == "COMPLETED":
            history.append(row["wall_s"])
    return wrong


def _all_rows(store: Store) -> list[dict[str, Any]]:
    """Every run in the order of storing."""
    rows: list[dict[str, Any]] = []
    after = None
    while page := store.runs(RunFilter(workspace=WORKSPACE), after=after, limit=_PAGE):
        rows += page
        after = page[-1]["seq"]
    return rows[::-1]
