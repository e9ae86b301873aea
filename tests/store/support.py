"""Runs, experiments and stores for tests."""

from typing import Any

from steelyard.domain.experiment import Experiment, Finished
from steelyard.domain.grade import JudgeResult, ScorerResult
from steelyard.domain.run import Parity, Run
from steelyard.domain.score import Scorecard
from steelyard.domain.suite import Arm, FrozenTask, Seed, Task
from steelyard.formulas.scorecard import facts_of, score_run
from steelyard.store.database import Store
from steelyard.store.reads import RunFilter

AT = "2026-01-01T00:00:00Z"
TASK = FrozenTask.of(Task(id="off-by-one", prompt="Fix it.", seed=Seed(empty=True), tags=("bugfix", "ü")))


def run_of(number: int, **changes: Any) -> Run:
    """A completed run; `number` makes its id, repeat and wall time."""
    fields: dict[str, Any] = {
        "run_id": f"run_{number:05d}",
        "experiment": "exp_1",
        "workspace": "payments",
        "task_id": TASK.task.id,
        "arm": "plain",
        "repeat": number + 1,
        "task_sha256": TASK.sha256,
        "status": "completed",
        "outcome": "COMPLETED",
        "started_at": AT,
        "finished_at": "2026-01-01T00:00:10+00:00",
        "wall_s": 10.0 + number,
        "parity": Parity(agent="scripted", sandbox="local"),
    }
    return Run(**{**fields, **changes})


def finished(number: int, *, blobs: dict[str, bytes] | None = None, **changes: Any) -> Finished:
    """A run that is to be stored, with a diff of its own."""
    return Finished(run_of(number, **changes), {"diff": b"diff %d\n" % number} if blobs is None else blobs)


def experiment_of(name: str = "exp_1", **changes: Any) -> Experiment:
    """An experiment of one task and one arm."""
    fields: dict[str, Any] = {
        "id": name,
        "workspace": "payments",
        "created_at": AT,
        "suite_path": "/suites/steelyard.yaml",
        "tasks": (TASK,),
        "arms": (Arm(name="plain", agent={"type": "scripted"}),),
        "repeats": 3,
    }
    return Experiment(**{**fields, **changes})


def scorer(verdict: Any = "PASS", **changes: Any) -> ScorerResult:
    """What a required `command` scorer said."""
    fields: dict[str, Any] = {
        "name": "unit tests",
        "type": "command",
        "verdict": verdict,
        "score": {"PASS": 1.0, "FAIL": 0.0, "N/A": None}[verdict],
        "required": True,
        "detail": "exit 0",
        "duration_s": 0.5,
    }
    return ScorerResult(**{**fields, **changes})


def judged(verdict: Any = "PASS", **changes: Any) -> JudgeResult:
    """What a judge said."""
    fields: dict[str, Any] = {
        "verdict": verdict,
        "task_completion": 5,
        "instruction_adherence": 4,
        "efficiency": 3,
        "backend": "canned",
        "model": "none",
        "prompt_version": "1",
        "duration_s": 1.0,
        "scored_at": AT,
    }
    return JudgeResult(**{**fields, **changes})


def assert_scores_are_exact(store: Store, workspace: str, expected_runs: int) -> None:
    """Every run's score is what its predecessors in stored order make it, computed again from the facts alone."""
    rows = store.runs(RunFilter(workspace=workspace), limit=10_000)[::-1]
    assert len(rows) == expected_runs
    history: list[float] = []
    for row in rows:
        stored = store.run(row["run_id"])
        expected: Scorecard = score_run(facts_of(stored.run, history[-20:]))
        assert stored.scorecard == expected
        if row["outcome"] == "COMPLETED" and not row["infrastructure"]:
            history.append(row["wall_s"])
