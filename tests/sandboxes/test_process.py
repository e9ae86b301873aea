"""Capturing output in flat memory, and the interrupt."""

import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from steelyard.sandboxes.base import HEAD, TAIL
from steelyard.sandboxes.capture import EDGE, Capture
from steelyard.sandboxes.process import Interrupter


@given(st.lists(st.integers(min_value=0, max_value=3 * TAIL), max_size=8))
def test_head_tail_and_count(sizes: list[int]) -> None:
    """Whatever the chunks are: the head is the first bytes, the tail the last, and nothing is counted twice."""
    stream = b"".join(bytes([11 + number % 200]) * size for number, size in enumerate(sizes))
    capture, at = Capture(), 0
    for size in sizes:
        capture.add(stream[at : at + size])
        at += size
    kept = capture.done()

    assert kept.total == len(stream)
    gap = len(stream) > HEAD + TAIL
    assert kept.head == stream[: HEAD - EDGE * gap]
    assert kept.tail == stream[HEAD:][-TAIL + EDGE * gap :]
    assert kept.dropped == (len(stream) - HEAD - TAIL + 2 * EDGE if gap else 0)


def test_a_line_that_reaches_into_the_gap_is_left_out() -> None:
    """Half a line may end in half a secret, which nobody would know again."""
    capture = Capture()
    capture.add(b"first\n" + b"x" * (HEAD - 20) + b"\nsecret=12345678901234567890")
    capture.add(b"y" * 3 * TAIL + b"34567890\n" + b"z" * (TAIL - 14) + b"\nlast\n")
    kept = capture.done()

    assert kept.head == b"first\n" + b"x" * (HEAD - 20) + b"\n"
    assert kept.tail == b"z" * (TAIL - 14) + b"\nlast\n"


def test_a_gigabyte_of_output_costs_flat_memory(tmp_path: Path) -> None:
    """An agent that prints 1 GB is read to its end while the harness stays small."""
    code = f"""
import resource
from pathlib import Path
from steelyard.sandboxes.base import SandboxSpec, shell
from steelyard.sandboxes.local import LocalSandbox
base = Path({str(tmp_path)!r})
box = LocalSandbox(SandboxSpec("run", base / "tree", base / "scratch"))
box.exec(shell("echo warm", 60))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = box.exec(shell("head -c 1000000000 /dev/zero", 280))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
box.close()
print(result.exit_code, result.stdout.total, after - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    exit_code, total, grown_kb = (int(word) for word in done.stdout.split())

    assert (exit_code, total) == (0, 1_000_000_000)
    assert grown_kb < 16 * 1024


def test_an_interrupt_can_be_set_twice_and_cleared() -> None:
    """Setting it again changes nothing; clearing it makes it as new."""
    event = Interrupter()
    event.set()
    event.set()
    assert event.is_set()
    event.clear()
    event.clear()
    assert not event.is_set()
