"""Tables on a terminal: what people copy stays whole."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.home import fill


def on_terminal(home: Path, columns: int, *words: str) -> str:
    """What a command shows on a terminal of that width, colours taken away."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from steelyard.cli.main import main; main()", *words]
    env = {**os.environ, "STEELYARD_HOME": str(home), "COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "xterm"}
    with subprocess.Popen(command, env=env, stdout=theirs, stdin=subprocess.DEVNULL) as process:
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 65536):
                shown += block
        except OSError:  # the other side is closed
            pass
        assert process.wait(timeout=60) == 0
    os.close(ours)
    return shown.decode()


@pytest.mark.parametrize(("columns", "left_out"), [(60, True), (200, False)])
def test_a_runs_id_is_never_cut(tmp_path: Path, columns: int, left_out: bool) -> None:
    """`show` wants the whole of it: a narrow terminal gets fewer columns, and is told which."""
    fill(tmp_path)

    shown = on_terminal(tmp_path, columns, "runs")

    for run in ("run_00001", "run_00002", "run_00003"):
        assert run in shown
    assert "COMPLETED" in shown
    assert ("too narrow a terminal for: " in shown) == left_out
    assert ("2026-03-01 00:00:00" in shown) != left_out


def test_columns_without_a_name_stay_apart(tmp_path: Path) -> None:
    """The scorecard has two of them; neither is taken for the other, and none is left out."""
    fill(tmp_path)

    shown = on_terminal(tmp_path, 80, "show", "run_00002")

    assert "could not be measured: 50" in shown
    assert "too narrow" not in shown
