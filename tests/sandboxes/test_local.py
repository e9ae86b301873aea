"""The local sandbox: what it says of itself, and what it does that others do not."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.domain.suite import Limits
from steelyard.errors import InfraError
from steelyard.sandboxes.base import SandboxSpec, shell
from steelyard.sandboxes.local import LocalProvider, LocalSandbox

LONG_S = 120.0


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[LocalSandbox]:
    """An open sandbox."""
    (tmp_path / "tree").mkdir()
    opened = LocalSandbox(SandboxSpec("run", tmp_path / "tree", tmp_path / "scratch"))
    yield opened
    opened.close()


def is_running(marker: str) -> bool:
    """Whether any process has the marker in its command line."""
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                lines.append((entry / "cmdline").read_bytes())
            except OSError:
                continue
    return any(marker.encode() in line for line in lines)


def test_it_says_that_it_isolates_nothing() -> None:
    """The provider says so plainly, for people and for programs."""
    provider = LocalProvider()

    assert not provider.isolates
    assert "isolates nothing" in (provider.note or "")


def test_it_notes_that_the_network_stays(tmp_path: Path) -> None:
    """A limit that can't be kept is noted, never silently dropped."""
    sandbox = LocalSandbox(SandboxSpec("run", tmp_path / "tree", tmp_path / "scratch", Limits(network=False)))
    sandbox.close()

    assert any("limits.network is not enforced" in note for note in sandbox.notes)


def test_survivors_are_counted(sandbox: LocalSandbox) -> None:
    """What a command leaves goes on until everything is killed, and is counted then."""
    sandbox.exec(shell("setsid sleep 8100 >/dev/null 2>&1 & sleep 8100 >/dev/null 2>&1 &", LONG_S))

    assert sandbox.kill_all() == 2
    assert sandbox.kill_all() == 0


def test_a_killed_harness_leaves_nothing_running(tmp_path: Path) -> None:
    """When the harness is killed with SIGKILL, its wardens end all that it had started."""
    marker = f"82{os.getpid()}.9"
    code = f"""
from pathlib import Path
from steelyard.sandboxes.base import SandboxSpec, shell
from steelyard.sandboxes.local import LocalSandbox
base = Path({str(tmp_path)!r})
box = LocalSandbox(SandboxSpec("run", base / "tree", base / "scratch"))
box.exec(shell("setsid sleep {marker} & echo up > ready; exec sleep {marker}", 600))
"""
    harness = subprocess.Popen([sys.executable, "-c", code])
    end = time.monotonic() + 60
    while not ((tmp_path / "tree" / "ready").exists() and is_running(marker)):
        assert time.monotonic() < end
        time.sleep(0.02)
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    while is_running(marker):
        assert time.monotonic() < end + 60
        time.sleep(0.02)


def test_an_agent_that_kills_the_warden_is_noticed(sandbox: LocalSandbox) -> None:
    """A command that kills the process above it makes the run an infrastructure failure, not a hang."""
    with pytest.raises(InfraError, match="watches over the sandbox is gone"):
        sandbox.exec(shell("kill -9 $PPID", LONG_S))
    with pytest.raises(InfraError, match="watches over the sandbox is gone"):
        sandbox.exec(shell("true", LONG_S))


def test_a_tree_that_became_something_else_is_collected_empty(sandbox: LocalSandbox, tmp_path: Path) -> None:
    """A link in place of the tree is not followed: an empty tree is collected."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("not of the tree")
    script = f"rm -rf {tmp_path}/tree && ln -s {tmp_path}/elsewhere {tmp_path}/tree"
    sandbox.exec(shell(script, LONG_S, cwd="/"))

    assert list(sandbox.collect_tree().iterdir()) == []
    assert (tmp_path / "elsewhere" / "file").exists()


def test_wardens_serve_one_sandbox_after_the_other(tmp_path: Path) -> None:
    """Opening many sandboxes one by one starts no process for each."""
    wardens = set()
    for number in range(5):
        box = LocalSandbox(SandboxSpec("run", tmp_path / str(number), tmp_path / f"scratch{number}"))
        wardens.add(box.warden.pid)
        box.close()

    assert len(wardens) == 1
