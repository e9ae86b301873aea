"""The score route against a bare FastAPI route that reads one row of the same database: wrk, same server settings."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from benchmarks.measure import median, table

SECONDS = 3
ROUNDS = 3
RUNS = 1000
BARE = """
import sys
import sqlite3
import uvicorn
from fastapi import FastAPI
from sqlalchemy import create_engine, text

engine = create_engine("sqlite:///" + sys.argv[1])
app = FastAPI()
QUERY = text("SELECT run_id, score, tier FROM agent_run_scores WHERE run_id = :id ORDER BY version DESC")

@app.get("/{run_id}")
def score(run_id: str):
    with engine.connect() as connection:
        return dict(connection.execute(QUERY, {"id": run_id}).mappings().first())

uvicorn.run(app, port=int(sys.argv[2]), http="h11", log_level="warning", access_log=False)
"""


def main(argv: list[str]) -> None:
    """Print Markdown tables; an argument names how many runs to store first."""
    count = int(argv[0]) if argv else RUNS
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
        home = Path(folder)
        seconds = _fill(home, count)
        env = {**os.environ, "STEELYARD_HOME": str(home)}
        token = json.loads(_steelyard(env, "token", "create", "--scope", "read", "--json"))["token"]
        ours = [sys.executable, "-c", _MAIN, "serve", "--port", "8391", "--rate", "0"]
        bare = [sys.executable, "-c", BARE, str(home / "steelyard.db"), "8392"]
        servers = [subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) for command in (ours, bare)]
        try:
            headers = ["-H", f"Authorization: Bearer {token}"]
            wanted = f"bench-{count // 2}"
            _wait(f"http://127.0.0.1:8391/v1/runs/{wanted}/score", token)
            _wait(f"http://127.0.0.1:8392/{wanted}", token)
            rows = [
                (
                    _wrk(f"http://127.0.0.1:8391/v1/runs/{wanted}/score", headers),
                    _wrk(f"http://127.0.0.1:8392/{wanted}", headers),
                )
                for _ in range(ROUNDS)
            ]
        finally:
            for server in servers:
                server.terminate()
                server.wait(30)
    mine, theirs = ([row[side] for row in rows] for side in (0, 1))
    ratio = median([a[0] / b[0] for a, b in rows])
    print(f"{count:,} stored runs on SQLite, a token checked at every request, wrk with 8 connections, one worker.\n")
    print(
        table(
            ["what", "requests/s", "p99"],
            [
                [
                    "GET /v1/runs/{id}/score",
                    f"{median([r for r, _ in mine]):,.0f}",
                    f"{median([p for _, p in mine]):.1f} ms",
                ],
                [
                    "a bare FastAPI route, one row",
                    f"{median([r for r, _ in theirs]):,.0f}",
                    f"{median([p for _, p in theirs]):.1f} ms",
                ],
                ["ratio (at least 0.7)", f"{ratio:.2f}", ""],
                [f"storing {count:,} runs through the bulk route", f"{count / seconds:,.0f} runs/s", ""],
            ],
        )
    )


_MAIN = "from steelyard.cli.main import main; main()"


def _steelyard(env: dict[str, str], *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", _MAIN, *words], env=env, check=True, capture_output=True, text=True
    ).stdout


def _fill(home: Path, count: int) -> float:
    """Store runs through the server itself, in bulks; how long it took."""
    env = {**os.environ, "STEELYARD_HOME": str(home)}
    command = [sys.executable, "-c", _MAIN, "serve", "--port", "8390"]
    server = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    try:
        _wait("http://127.0.0.1:8390/healthz", "")
        begun = time.perf_counter()
        for start in range(0, count, 1000):
            lines = [_line(number) for number in range(start, min(start + 1000, count))]
            request = urllib.request.Request(
                "http://127.0.0.1:8390/v1/runs/bulk",
                data="\n".join(lines).encode(),
                headers={"Content-Type": "application/x-ndjson"},
            )
            with urllib.request.urlopen(request, timeout=600) as answer:
                assert b'"status":4' not in answer.read()
        return time.perf_counter() - begun
    finally:
        server.terminate()
        server.wait(30)


def _line(number: int) -> str:
    run = {"run_id": f"bench-{number}", "outcome": "COMPLETED", "wall_s": 10.0 + number % 7, "repeat": number + 1}
    return json.dumps({**run, "stages": [{"name": "test", "passed": True}], "usage": {"input_tokens": 10}})


def _wait(url: str, token: str) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
            urllib.request.urlopen(request, timeout=60).read()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _wrk(url: str, headers: list[str]) -> tuple[float, float]:
    """Requests a second, and the p99 in milliseconds."""
    command = ["wrk", "-t1", "-c8", f"-d{SECONDS}s", "--latency", *headers, url]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in said, said
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])  # type: ignore[index]
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", said).groups()  # type: ignore[union-attr]
    return rate, float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]


if __name__ == "__main__":
    main(sys.argv[1:])
