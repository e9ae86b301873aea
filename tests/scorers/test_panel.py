import itertools
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade, passed
from steelyard.errors import InfraError
from steelyard.formulas.gates import overall
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.command import Command
from steelyard.scorers.llm_judge import LlmJudge
from steelyard.scorers.max_files_changed import MaxFilesChanged
from steelyard.scorers.panel import grade
from tests.scorers.support import edited, evidence, local_sandbox


class Broken(Scorer):
    """A scorer with a mistake in it."""

    type: Literal["broken"] = "broken"

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Always raises."""
        raise KeyError("no such\nthing")


class Leaving(Scorer):
    """A scorer that ends the program, as command line tools do."""

    type: Literal["leaving"] = "leaving"

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Asks Python to exit."""
        raise SystemExit(5)


class Wrong(Scorer):
    """A scorer that answers with something else than a grade."""

    type: Literal["wrong"] = "wrong"

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Answers True."""
        return True  # type: ignore[return-value]  # the mistake under test


class Stopped(Scorer):
    """A scorer that was interrupted from outside."""

    type: Literal["stopped"] = "stopped"

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Raises what a sandbox raises on Ctrl-C."""
        raise InfraError("interrupted", "stopped")


class Unmade(Scorer):
    """A scorer whose grade was made past every check."""

    type: Literal["unmade"] = "unmade"

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """A grade with a verdict that does not exist."""
        return Grade.model_construct(verdict="MAYBE", detail=5)  # type: ignore[arg-type]  # that is the mistake


class Late(Scorer):
    """A scorer that uses the sandbox and notes when it ran."""

    type: Literal["late"] = "late"
    uses_sandbox: ClassVar[bool] = True
    required_by_default: ClassVar[bool] = False

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Passes when no static scorer is left to run."""
        evidence.extra["late"] = str(len(evidence.extra))
        return passed("ran")


class Early(Late):
    """A static scorer that notes when it ran."""

    type: Literal["early"] = "early"  # type: ignore[assignment]  # its own type
    uses_sandbox: ClassVar[bool] = False

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Notes its turn."""
        evidence.extra["early"] = str(len(evidence.extra))
        return passed("ran")


class Wordy(Scorer):
    """Says far more than anybody reads."""

    type: Literal["wordy"] = "wordy"

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Pass, at length."""
        return passed("word " * 100_000)


def test_a_detail_has_a_bound() -> None:
    """It stands in every record and table; what is left out is counted."""
    (result,) = grade([Wordy(name="a")], evidence(), None, clock=lambda: 0.0)

    assert result.verdict == "PASS"
    assert result.detail == "word " * 4_000 + " … 480,000 characters left out"


def ticking() -> "itertools.count[float]":
    """A clock that goes on by one second a look."""
    return itertools.count(0.0, 1.0)


def test_static_scorers_run_first_and_answers_keep_their_order() -> None:
    """Commands may change the tree, so they come last; the results stand as configured."""
    clock = ticking()
    seen = evidence()
    results = grade([Late(name="a"), Early(name="b")], seen, None, clock=lambda: next(clock))
    assert [result.name for result in results] == ["a", "b"]
    assert seen.extra == {"early": "0", "late": "1"}
    assert [result.duration_s for result in results] == [1.0, 1.0]
    assert [result.required for result in results] == [False, False]


@pytest.mark.parametrize(
    ("scorer", "said"),
    [
        (Broken(name="bad"), "KeyError: 'no such\\nthing'"),
        (Wrong(name="bad"), "answers with a Grade, this one with bool"),
        (Leaving(name="bad"), "the scorer itself crashed: SystemExit: 5"),
        (Unmade(name="bad"), "verdict"),
    ],
)
def test_a_broken_scorer_fails_closed_and_stops_nobody(scorer: Scorer, said: str) -> None:
    """The crash is a FAIL that says so in one line; the scorer after it still runs."""
    clock = ticking()
    results = grade([scorer, MaxFilesChanged(name="ok", limit=1)], evidence(), None, clock=lambda: next(clock))
    assert (results[0].verdict, results[0].score, results[0].crashed) == ("FAIL", 0.0, True)
    assert said in results[0].detail
    assert "\n" not in results[0].detail
    assert (results[1].verdict, results[1].crashed) == ("PASS", False)
    assert overall(results) == "FAIL"


def test_an_interruption_is_nobodys_grade() -> None:
    """Ctrl-C while grading ends the run; it is never recorded as a failed scorer."""
    with pytest.raises(InfraError, match="stopped"):
        grade([Stopped(name="x")], evidence(), None, clock=lambda: 0.0)


def test_what_a_command_changed_is_put_back_before_the_next(tmp_path: Path) -> None:
    """A command that rewrites a test can't help the command after it, and its detail names the file."""
    with local_sandbox(tmp_path) as sandbox:
        file = tmp_path / "tree" / "test.sh"
        file.write_text("exit 1")

        def between() -> list[str]:
            if file.read_text() == "exit 1":
                return []
            file.write_text("exit 1")
            return ["test.sh"]

        scorers = [Command(name="sly", command="echo exit 0 > test.sh"), Command(name="test", command="sh test.sh")]
        results = grade(scorers, evidence(), sandbox, clock=lambda: 0.0, between=between)
    assert [result.verdict for result in results] == ["PASS", "FAIL"]
    assert "1 file that it changed put back: test.sh" in results[0].detail


def test_files_that_cannot_be_put_back_fail_closed(tmp_path: Path) -> None:
    """When the tree can't be restored the answers after it would be worth nothing: FAIL, our fault."""

    def between() -> list[str]:
        raise OSError("disk gone")

    with local_sandbox(tmp_path) as sandbox:
        scorers = [Command(name="x", command="true"), Command(name="y", command="true")]
        result, last = grade(scorers, evidence(), sandbox, clock=lambda: 0.0, between=between)
    assert (last.verdict, last.crashed) == ("PASS", False)  # nobody comes after it
    assert (result.verdict, result.crashed) == ("FAIL", True)
    assert "could not be put back: OSError: disk gone" in result.detail


def test_the_judges_rubric_never_gates() -> None:
    """`llm_judge` is N/A, not mechanical and not required, even when the suite says required."""
    (result,) = grade([LlmJudge(name="taste", rubric="Small.", required=True)], evidence(), None, clock=lambda: 0.0)
    assert (result.verdict, result.score, result.required, result.mechanical) == ("N/A", None, False, False)


def test_required_may_be_switched() -> None:
    """A suite's `required` wins over the type's default."""
    small = MaxFilesChanged(name="x", limit=0, required=False)
    (result,) = grade([small], evidence(edited("a")), None, clock=lambda: 0.0)
    assert (result.verdict, result.required) == ("FAIL", False)
    assert overall([result]) == "PASS"
