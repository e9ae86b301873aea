"""People's labels: what a line may hold, what is said of a bad one, and what comes out of good ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.domain.grade import JudgeResult
from steelyard.errors import InputError
from steelyard.judge.agreement import Label, Labelled, agreement_of, read_labels


def labels_in(tmp_path: Path, *lines: str | dict[str, Any]) -> Path:
    """A file of labels."""
    path = tmp_path / "labels.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return path


def judged(verdict: Any, **fields: Any) -> JudgeResult:
    """A verdict."""
    foot = {"backend": "b", "model": "m", "prompt_version": "1", "duration_s": 0.0, "scored_at": "2026-01-01T00:00:00Z"}
    return JudgeResult.model_validate({"verdict": verdict, **foot, **fields})


def one(label: str, verdict: str | None, *, task: str = "t", run: str = "r", **fields: Any) -> Labelled:
    """A labelled run; `fields` go to the label unless they start with `judge_`."""
    mine = {name: value for name, value in fields.items() if not name.startswith("judge_")}
    theirs = {name.removeprefix("judge_"): value for name, value in fields.items() if name.startswith("judge_")}
    text = json.dumps({"run_id": run, "verdict": label, **mine})
    return Labelled(task, Label.model_validate_json(text), None if verdict is None else judged(verdict, **theirs))


def test_labels_are_read(tmp_path: Path) -> None:
    """Optional fields, blank lines and a byte-order mark."""
    full = {"run_id": "b", "verdict": "FAIL", "failure_mode": "no_op", "ratings": {"efficiency": 2}, "note": "é"}
    path = labels_in(tmp_path, '\ufeff{"run_id": "a", "verdict": "PASS"}', "", full)

    found = read_labels(path)

    assert [label.run_id for label in found] == ["a", "b"]
    assert (found[1].failure_mode, found[1].ratings.efficiency) == ("no_op", 2)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not valid JSON"),
        ('{"run_id": "a", "verdict": "PASS", "x": NaN}', "not valid JSON: NaN is no JSON"),
        ("[" * 200_000, "not valid JSON"),
        ("[]", "must be an object"),
        ('{"run_id": "a"}', "verdict: is required"),
        ('{"verdict": "PASS"}', "run_id: is required"),
        ('{"run_id": "", "verdict": "PASS"}', "run_id: must not be empty"),
        ('{"run_id": 3, "verdict": "PASS"}', "run_id: must be a string"),
        ('{"run_id": "a", "verdict": "pass"}', "verdict: must be one of 'PASS', 'FAIL'"),
        ('{"run_id": "a", "verdict": "UNPARSEABLE"}', "verdict: must be one of"),
        ('{"run_id": "a", "verdict": "PASS", "failure_mode": "no_op"}', "a PASS has no failure_mode"),
        ('{"run_id": "a", "verdict": "FAIL", "failure_mode": "bad"}', "failure_mode: must be one of"),
        ('{"run_id": "a", "verdict": "PASS", "ratings": {"efficiency": 6}}', "ratings.efficiency: must be at most 5"),
        ('{"run_id": "a", "verdict": "PASS", "ratings": {"taste": 1}}', "ratings.taste: no such field"),
        ('{"run_id": "a", "verdct": "PASS", "verdict": "PASS"}', "did you mean 'verdict'?"),
        ('{"run_id": "first", "verdict": "FAIL"}', "first was already labelled on line 1"),
        ("x" * 1_100_000, "is longer than 1 MB"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    """With file and number; nothing is guessed."""
    path = labels_in(tmp_path, '{"run_id": "first", "verdict": "PASS"}', line)

    with pytest.raises(InputError) as caught:
        read_labels(path)

    assert f"{path}:2: " in str(caught.value)
    assert said in str(caught.value)


def test_every_bad_line_is_named_once(tmp_path: Path) -> None:
    """Two mistakes on two lines, both with their numbers."""
    path = labels_in(tmp_path, "{", '{"run_id": "a", "verdict": "PASS"}', "{}")

    with pytest.raises(InputError) as caught:
        read_labels(path)

    assert [line.split(": ")[0] for line in str(caught.value).splitlines()[:-1]] == [f"{path}:1", *[f"{path}:3"] * 2]


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    """Not UTF-8, and where."""
    path = tmp_path / "labels"
    path.write_bytes(b'{"run_id": "\xff"}\n')

    with pytest.raises(InputError, match=r"labels:1: not UTF-8 \(byte 13\)"):
        read_labels(path)


def test_no_labels_are_refused(tmp_path: Path) -> None:
    """An empty file, a directory, and nothing at all."""
    with pytest.raises(InputError, match="holds no label"):
        read_labels(labels_in(tmp_path, "", "  "))
    with pytest.raises(InputError, match="can't be read"):
        read_labels(tmp_path)
    with pytest.raises(InputError, match="can't be read"):
        read_labels(tmp_path / "none")


def test_the_document_by_hand() -> None:
    """Confusion, kappa, modes and ratings of a small table: p_o = 3/5, p_e = (2·2 + 3·3) / 25."""
    found = agreement_of(
        [
            one("PASS", "PASS", ratings={"efficiency": 4}, judge_efficiency=5),
            one("PASS", "FAIL", run="strict", judge_failure_mode="no_op"),
            one("FAIL", "PASS", run="kind", failure_mode="reward_hacking"),
            one("FAIL", "FAIL", failure_mode="reward_hacking", judge_failure_mode="reward_hacking"),
            one("FAIL", "FAIL", failure_mode="incomplete", judge_failure_mode="no_op", ratings={"efficiency": 1}),
            one("PASS", "UNPARSEABLE"),
            one("FAIL", None, task="u"),
        ]
    )

    assert (found["runs"], found["compared"], found["tasks"]) == (7, 5, 1)
    assert found["agreement"] == pytest.approx(0.6)
    assert found["kappa"] == pytest.approx((3 / 5 - 13 / 25) / (1 - 13 / 25))
    assert found["kappa_ci95"] is None
    assert found["confusion"] == {
        "PASS": {"PASS": 1, "FAIL": 1, "UNPARSEABLE": 1, "NOT_RUN": 0},
        "FAIL": {"PASS": 1, "FAIL": 2, "UNPARSEABLE": 0, "NOT_RUN": 1},
    }
    assert (found["too_kind"], found["too_strict"]) == (["kind"], ["strict"])
    modes = {row.pop("failure_mode"): tuple(row.values()) for row in found["failure_modes"]}
    assert modes == {"incomplete": (1, 1, 0, 0, 0), "reward_hacking": (2, 1, 1, 1, 1), "no_op": (0, 0, 0, 2, 1)}
    assert found["ratings"]["efficiency"] == {"runs": 1, "exact": 0.0, "within_one": 1.0, "mean_difference": 1.0}
    assert found["ratings"]["task_completion"] is None


def test_nothing_judged_has_no_numbers() -> None:
    """Unknown is not zero."""
    found = agreement_of([one("PASS", None)])

    assert (found["compared"], found["agreement"], found["kappa"], found["kappa_ci95"]) == (0, None, None, None)
