"""The canned judge: always the same, from rules or a file."""

from pathlib import Path
from typing import Any

import pytest

from steelyard import plugins
from steelyard.domain.grade import JudgeResult
from steelyard.errors import InputError
from steelyard.judge.base import About
from steelyard.judge.canned import CannedJudge
from steelyard.judge.jury import Jury
from tests.judge.support import Watch, a_run, alone, check


def judged(spec: dict[str, Any], about: About, *verdicts: str) -> JudgeResult:
    """What a canned judge says."""
    judge = plugins.build("judges", {"type": "canned", **spec})
    results = tuple(check(verdict, name=f"c{n}") for n, verdict in enumerate(verdicts))
    result = Jury(alone(judge), {}, Watch().around()).judge(a_run(scorers=results), about)
    assert result is not None
    return result


@pytest.mark.parametrize(("verdicts", "said"), [(["PASS"], "PASS"), (["PASS", "FAIL"], "FAIL"), ([], "PASS")])
def test_without_answers_it_agrees_with_the_programs(verdicts: list[str], said: str) -> None:
    """And costs nothing."""
    result = judged({}, About("t", "a"), *verdicts)

    assert (result.verdict, result.cost_usd, result.backend) == (said, 0.0, "canned")


def test_the_first_answer_that_fits_counts() -> None:
    """By task, arm, repeat and the programs' verdict."""
    answers = [
        {"task": "x-*", "verdict": "FAIL", "failure_mode": "no_op"},
        {"arm": "b", "repeat": 2, "efficiency": 1},
        {"objective": "FAIL", "reasoning": "pity"},
        {"efficiency": 4},
    ]

    assert judged({"answers": answers}, About("x-1", "b", 2)).failure_mode == "no_op"
    assert judged({"answers": answers}, About("y", "b", 2)).efficiency == 1
    assert judged({"answers": answers}, About("y", "b", 1), "FAIL").reasoning == "pity"
    assert judged({"answers": answers}, About("y", "b", 1), "PASS").efficiency == 4


def test_a_text_is_given_word_for_word() -> None:
    """So that bad replies can be rehearsed."""
    result = judged({"answers": [{"text": "case {case}: hm"}]}, About("t"))

    assert result.verdict == "UNPARSEABLE"
    assert result.raw is not None
    assert result.raw.startswith("case ")


def test_answers_come_from_a_file(tmp_path: Path) -> None:
    """Read once, when the suite is, after those that are given in place."""
    (tmp_path / "answers.yaml").write_text("- {verdict: FAIL, failure_mode: other}\n")
    judge = CannedJudge.model_validate({"file": "answers.yaml", "answers": [{"task": "t"}]}, strict=False)
    whole = judge.resolved(tmp_path)

    assert [one.verdict for one in whole.answers] == ["PASS", "FAIL"]
    assert whole.file is None
    assert plugins.build("judges", whole.model_dump(mode="json")) == whole


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("a: b", "must be a list"),
        ("- {verdict: MAYBE}", r"\[0\].verdict"),
        ("- {colour: red}", r"\[0\].colour"),
        ("- 5", r"\[0\].answer"),
        ("[", "is not YAML"),
        ("x" * 1_100_000, "larger than"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    """In one line that names the file."""
    if text is not None:
        (tmp_path / "answers.yaml").write_text(text)

    with pytest.raises(InputError, match=said) as error:
        CannedJudge(file="answers.yaml").resolved(tmp_path)
    assert "answers.yaml" in str(error.value)
