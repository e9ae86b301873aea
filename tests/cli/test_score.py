"""steelyard score: the seed's JSON out, every mistake named."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FINISHED = {
    "run_id": "run_01",
    "outcome": "COMPLETED",
    "stages": [{"name": "lint", "attempts": 1, "passed": True}, {"name": "test", "attempts": 2, "passed": True}],
    "wall_s": 12.5,
    "history_wall_s": [9, 10, 10, 10, 11],
    "resources": {"peak_memory_mb": 100, "memory_limit_mb": 1000, "cpu_periods": 10, "cpu_throttled_periods": 0},
}


def score(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command as a person would."""
    command = [sys.executable, "-c", "from steelyard.cli.main import main; main()", "score", *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_a_finished_run_gets_the_seeds_document(tmp_path: Path, source: str) -> None:
    """From a file or standard input: the seed's fields in its order, then weights and defaulted axes."""
    file = tmp_path / "run.json"
    file.write_text(json.dumps(FINISHED), encoding="utf-8")
    done = score(str(file)) if source == "file" else score("-", text=json.dumps(FINISHED))
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert list(document) == ["run_id", "score", "tier", "formula_version", "axes", "weights", "defaulted_axes"]
    assert document["axes"] == {"completion": 100, "error_rate": 50, "latency": 70, "resource_efficiency": 93}
    assert (document["score"], document["tier"], document["formula_version"]) == (78, "Gold", "2")
    assert document["defaulted_axes"] == []


def test_all_but_id_and_outcome_may_be_left_out() -> None:
    """The rest is 50 and says so."""
    document = json.loads(score("-", text='{"run_id": "r", "outcome": "FAILED"}').stdout)
    assert document["score"] == 30
    assert document["defaulted_axes"] == ["error_rate", "latency", "resource_efficiency"]


def test_null_is_unknown() -> None:
    """A field that is null is as good as left out."""
    names = ("stages", "wall_s", "history_wall_s", "baseline_p50_s", "resources", "weights")
    run = {"run_id": "r", "outcome": "COMPLETED", **dict.fromkeys(names)}
    document = json.loads(score("-", text=json.dumps(run)).stdout)
    assert (document["score"], document["tier"]) == (70, "Gold")
    assert document["defaulted_axes"] == ["error_rate", "latency", "resource_efficiency"]


def test_weights_and_a_baseline_can_be_given() -> None:
    """Half the usual time, and only latency counts."""
    weights = {"completion": 0, "error_rate": 0, "latency": 1, "resource_efficiency": 0}
    run: dict[str, Any] = {"run_id": "r", "outcome": "BLOCKED", "wall_s": 5, "baseline_p50_s": 10, "weights": weights}
    document = json.loads(score("-", text=json.dumps(run)).stdout)
    assert (document["score"], document["tier"], document["weights"]["latency"]) == (100, "Elite", 1.0)


def test_a_baseline_of_no_time_defaults_the_latency() -> None:
    """Nothing can be measured against 0 seconds: the axis is 50 and listed, as with a history of zeros."""
    run: dict[str, Any] = {"run_id": "r", "outcome": "COMPLETED", "wall_s": 5, "baseline_p50_s": 0}
    document = json.loads(score("-", text=json.dumps(run)).stdout)
    assert document["axes"]["latency"] == 50
    assert "latency" in document["defaulted_axes"]


def test_every_mistake_is_named_at_once() -> None:
    """Type, range, spelling, a sum of weights: one line each, exit code 2, nothing on stdout."""
    run = {
        "run_id": 5,
        "outcome": "DONE",
        "stages": [{"name": "lint", "attempts": -1}],
        "wall_s": "long",
        "weights": {"completion": 2},
        "outcom": "COMPLETED",
    }
    done = score("-", text=json.dumps(run))
    assert (done.returncode, done.stdout) == (2, "")
    for words in (
        "run_id: must be a string, not 5",
        "outcome: must be one of 'COMPLETED', 'BLOCKED', 'FAILED', not 'DONE'",
        "stages.1.attempts: must be at least 0, not -1",
        "stages.1.passed: is required",
        "wall_s: must be a number, not 'long'",
        "weights: the four weights must add up to 1",
        "outcom: no such field; did you mean 'outcome'?",
    ):
        assert words in done.stderr


@pytest.mark.parametrize(
    ("text", "words"), [("", "is empty"), ("{", "not valid JSON"), ("[]", "must be an object"), ("NaN", "object")]
)
def test_what_is_no_run_is_refused(text: str, words: str) -> None:
    """One clear line and exit code 2, never a traceback."""
    done = score("-", text=text)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """It is named."""
    done = score(str(tmp_path / "none.json"))
    assert done.returncode == 2
    assert "none.json: can't be read: No such file or directory" in done.stderr
