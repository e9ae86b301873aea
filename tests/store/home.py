"""A STEELYARD_HOME with a few runs in it, and the real command on it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from steelyard.domain.experiment import Finished
from steelyard.domain.grade import Finding
from steelyard.domain.run import StageAttempt
from steelyard.store.database import open_store
from tests.store.support import AT, experiment_of, finished, judged, run_of, scorer

DIFF = b"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new \x1b[31m\xff\n"
STEP = {
    "step_id": 1,
    "source": "agent",
    "message": "I look around.",
    "tool_calls": [{"tool_call_id": "1", "function_name": "bash", "arguments": {"command": "ls"}}],
    "observation": {"results": [{"content": "x.py"}]},
}


def fill(home: Path) -> None:
    """Store one plain run, one with everything in it, one infrastructure failure, in this order."""
    with open_store(f"sqlite:///{home / 'steelyard.db'}", home / "artifacts") as store:
        store.create_experiment(experiment_of())
        store.save(finished(1), scored_at=AT)
        failing = scorer(
            "FAIL",
            detail="exit 1 \x1b[2J",
            output_tail="1 failed\nE assert 1 == 2",
            findings=(Finding(path="x.py", line=3, rule="skip", message="a new skip"),),
        )
        stage = StageAttempt(name="lint", attempt=1, exit_code=1, passed=False, duration_s=0.2, output_tail="E501")
        run = run_of(2, arm="fancy", outcome="BLOCKED", scorers=(failing,), stages=(stage,), judge=judged())
        run = run.model_copy(update={"final_response": "done\x07", "notes": ("watch out",), "changed_files": ("x.py",)})
        trajectory = json.dumps({"steps": [STEP]}).encode()
        store.save(Finished(run, {"diff": DIFF, "trajectory": trajectory, "stdout": b"out\n"}), scored_at=AT)
        failure: dict[str, Any] = {
            "status": "failed",
            "outcome": "FAILED",
            "error_class": "network",
            "error_detail": "no route",
        }
        store.save(finished(3, finished_at="2026-03-01T00:00:00Z", **failure), scored_at=AT)


def steelyard(home: Path, *words: str) -> tuple[int, str, str]:
    """Run the command as a person would; exit code, stdout, stderr."""
    command = [sys.executable, "-c", "from steelyard.cli.main import main; main()", *words]
    env = {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}
    env["STEELYARD_HOME"] = str(home)
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    return ran.returncode, ran.stdout, ran.stderr


def document(home: Path, *words: str) -> Any:
    """The one JSON document that a command prints with --json."""
    code, out, err = steelyard(home, *words, "--json")
    assert code == 0, err
    return json.loads(out)
