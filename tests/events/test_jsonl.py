"""jsonl: lines of a file."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.events.base import SinkError
from steelyard.events.jsonl import Jsonl
from steelyard.store.outbox import StoredEvent


def event(number: int, payload: str = "x") -> StoredEvent:
    """An event."""
    return StoredEvent(number, f"{number:032x}", "agent.run.scored", "w", None, "2026-01-01T00:00:00Z", {"p": payload})


def numbers(path: Path) -> list[int]:
    """The places in line of the events of a file."""
    return [json.loads(line)["sequence"] for line in path.read_text().splitlines()]


def test_a_full_file_is_put_aside(tmp_path: Path) -> None:
    """Past the limit a new file begins; so many old ones are kept, the newest as .1, and no line is split."""
    sink = Jsonl(tmp_path / "deep" / "events.jsonl", largest=1000, kept=2)
    for number in range(20):
        sink.send([event(number, "y" * 300)])

    files = sorted(path.name for path in (tmp_path / "deep").iterdir())
    assert files == ["events.jsonl", "events.jsonl.1", "events.jsonl.2"]
    kept = [number for name in reversed(files) for number in numbers(tmp_path / "deep" / name)]
    assert kept == list(range(20 - len(kept), 20))
    assert all((tmp_path / "deep" / name).stat().st_size <= 1000 for name in files)


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    """What a killed process left of a line goes; its event comes again, whole."""
    path = tmp_path / "events.jsonl"
    sink = Jsonl(path)
    sink.send([event(1)])
    with path.open("ab") as file:
        file.write(b'{"id": "torn')
    sink.send([event(2), event(3)])

    assert numbers(path) == [1, 2, 3]


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    """When the file may not grow, nothing of the events is left in it, and the sink says why."""
    code = """
import sys, signal
from pathlib import Path
from steelyard.events.base import SinkError
from steelyard.events.jsonl import Jsonl
from tests.events.test_jsonl import event
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sink = Jsonl(Path(sys.argv[1]))
sink.send([event(1)])
try:
    sink.send([event(2), event(3, "z" * 5000)])
except SinkError as error:
    print(error)
"""
    path = tmp_path / "events.jsonl"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    ran = subprocess.run(
        [sys.executable, "-c", code, str(path)], preexec_fn=limit, capture_output=True, text=True, timeout=240
    )

    assert "File too large" in ran.stdout, ran.stderr
    assert numbers(path) == [1]


def test_a_place_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    """A directory in the file's place."""
    with pytest.raises(SinkError, match="Is a directory"):
        Jsonl(tmp_path).send([event(1)])


def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    """Events say how well people's agents work: not for everybody."""
    Jsonl(tmp_path / "events.jsonl").send([event(1)])

    assert (tmp_path / "events.jsonl").stat().st_mode & 0o077 == 0
