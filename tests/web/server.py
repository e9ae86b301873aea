"""A real server process for tests, its tokens, and runs to send."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from steelyard.store.database import Store, open_store
from steelyard.store.tokens import Token, add_token, token_key

STEELYARD = [sys.executable, "-c", "from steelyard.cli.main import main; main()"]
DEADLINE_S = 120


def environment(home: Path, store: str | None = None) -> dict[str, str]:
    """This environment with a home of its own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}
    env["STEELYARD_HOME"] = str(home)
    return env if store is None else {**env, "STEELYARD_STORE": store}


@dataclass
class Served:
    """A server that listens: its address, its process, and its home."""

    url: str
    process: "subprocess.Popen[str]"
    home: Path
    store: str | None = None

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """A plain HTTP client of it."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=DEADLINE_S, **options)

    def command(self, *words: str) -> Any:
        """A `steelyard` command on its home, as JSON."""
        ran = subprocess.run(
            [*STEELYARD, *words, "--json"],
            env=environment(self.home, self.store),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    def open_store(self) -> Store:
        """Its store, opened beside it."""
        return open_store(self.store or f"sqlite:///{self.home / 'steelyard.db'}", self.home / "artifacts")

    def token(self, workspace: str = "payments", scope: str = "write", expires_at: str | None = None) -> str:
        """A new token's text."""
        name, secret = uuid4().hex[:12], (uuid4().hex + uuid4().hex)[:43]
        row = Token(name, workspace, "test", scope, "2026-01-01T00:00:00.000000Z", expires_at, None, None)
        text = f"sy_{name}_{secret}"
        with self.open_store() as store:
            add_token(store.database, token_key(self.home), text, row)
        return text

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Tell it to end, and wait until it has."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=DEADLINE_S)


@contextmanager
def serving(
    home: Path, *words: str, store: str | None = None, settings: dict[str, str] | None = None
) -> Iterator[Served]:
    """A server on a free port of this machine, until the block ends; `settings` are more of its environment."""
    home.mkdir(parents=True, exist_ok=True)
    log = (home / "server.log").open("a+")
    process = subprocess.Popen(
        [*STEELYARD, "serve", "--port", "0", "--json", *words],
        env={**environment(home, store), **(settings or {})},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], DEADLINE_S)
        line = process.stdout.readline() if ready else ""
        assert line, (home / "server.log").read_text()
        served = Served(json.loads(line)["url"], process, home, store)
        await_answer(served.url)
        yield served
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=DEADLINE_S)
        if process.stdout is not None:
            process.stdout.close()
        log.close()


def await_answer(url: str) -> None:
    """Wait until the server answers."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/readyz", timeout=DEADLINE_S).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"{url} does not answer")


def run_body(number: int, **changes: Any) -> dict[str, Any]:
    """A finished run; `number` makes its id and wall time."""
    body: dict[str, Any] = {
        "run_id": f"run_{number:05d}",
        "outcome": "COMPLETED",
        "wall_s": 10.0 + number % 7,
        "task_id": "off-by-one",
        "arm": "plain",
        "repeat": number + 1,
        "stages": [{"name": "lint", "passed": True}, {"name": "test", "passed": True, "attempts": 1 + number % 2}],
        "resources": {
            "peak_memory_mb": 100.0,
            "memory_limit_mb": 1000.0,
            "cpu_periods": 10,
            "cpu_throttled_periods": 1,
        },
        "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 0, "cache_write_tokens": 0},
    }
    return {**body, **changes}
