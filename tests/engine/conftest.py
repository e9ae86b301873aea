"""A lab of real parts: local sandboxes, real trees, the machine's clocks."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.domain.experiment import Finished
from steelyard.domain.run import Cell
from steelyard.domain.suite import Arm, FrozenTask, Task
from steelyard.engine.execute import execute
from steelyard.engine.lab import Job, Lab
from steelyard.sandboxes.local import LocalProvider
from steelyard.wiring import SystemClock, new_id
from steelyard.worktree.template import Templates

RunIt = Callable[..., Finished]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A lab whose suite folder holds one seed with a file and a test."""
    root = tmp_path / "suite"
    (root / "seed").mkdir(parents=True)
    (root / "seed" / "code.txt").write_text("wrong\n")
    (root / "seed" / "check.sh").write_text("grep -q right code.txt\n")
    yield Lab(
        provider=LocalProvider(),
        templates=Templates(tmp_path / "templates"),
        scratch=tmp_path / "scratch",
        suite_root=root,
        clock=SystemClock(),
        new_id=lambda: new_id("run"),
    )
    left = [path for path in (tmp_path / "scratch").glob("*") if path.is_dir()]
    assert left == [], "a run leaves nothing behind"


@pytest.fixture
def run_it(lab: Lab) -> RunIt:
    """Runs a command agent on a task made of the given fields."""

    def run(command: str | dict[str, Any], **fields: Any) -> Finished:
        overlay, env, preamble, environ = (fields.pop(n, None) for n in ("overlay", "env", "preamble", "environ"))
        fields.setdefault("seed", {"directory": "seed"})
        fields.setdefault("prompt", "make it right")
        task = Task.model_validate({"id": "t", **fields}, strict=False)
        agent = {"type": "command", "command": command} if isinstance(command, str) else command
        arm = Arm(name="a", agent=agent, overlay=overlay, env=tuple(env or ()), preamble=preamble)
        job = Job("exp", "default", Cell(task_id="t", arm="a", repeat=1), FrozenTask.of(task), arm)
        return execute(job, replace(lab, environ=environ or {}))

    return run
