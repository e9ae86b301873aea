"""steelyard show."""

import shutil
from pathlib import Path

from steelyard.domain.experiment import Finished
from steelyard.store.database import open_store
from tests.store.home import DIFF, STEP, document, fill, steelyard
from tests.store.support import AT, run_of


def test_a_run_is_shown_with_everything_said_of_it(tmp_path: Path) -> None:
    """Gates, stages, scorers with findings and output, judge, scorecard and parts; control codes as text."""
    fill(tmp_path)

    code, out, err = steelyard(tmp_path, "show", "run_00002", "--diff", "--trajectory", "--output")

    assert code == 0, err
    for part in (
        "gates: objective FAIL, judge PASS, run PASS",
        "disagreement: plausible but violates a hard constraint",
        "note: watch out",
        "lint, attempt 1: failed, exit 1",
        "scorers: OVERALL FAIL, mean score 0.000",
        "FAIL unit tests [command]: exit 1 \\x1b[2J",
        "x.py:3: skip: a new skip",
        "| E assert 1 == 2",
        "judge: PASS by canned none",
        "task completion 5/5, instruction adherence 4/5, efficiency 3/5",
        "scorecard: ",
        "resource_efficiency  50",
        "done\\x07",
        "+new \\x1b[31m\\xff",
        '→ bash {"command": "ls"}',
        "stdout\nout\n",
    ):
        assert part in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_the_change_is_shown_without_being_asked_for(tmp_path: Path) -> None:
    """A small one whole, a large one by its first lines and how many there are; programs get all of it."""
    fill(tmp_path)
    large = (
        b"diff --git a/y b/y\n+" + b"y" * 5000 + b"\n" + b"".join(b"+line %d\n" % number for number in range(1, 100))
    )
    with open_store(f"sqlite:///{tmp_path / 'steelyard.db'}", tmp_path / "artifacts") as store:
        store.save(Finished(run_of(4, finished_at="2026-03-02T00:00:00Z"), {"diff": large}), scored_at=AT)

    _, small, _ = steelyard(tmp_path, "show", "run_00002")
    _, first, _ = steelyard(tmp_path, "show", "run_00004")

    assert "+new \\x1b[31m\\xff" in small
    assert "yyy… (3001 characters more)\n+line 1\n" in first
    assert "+line 38\n… 61 lines more (--diff shows them)" in first
    assert "+line 39" not in first
    assert document(tmp_path, "show", "run_00004")["diff"] == large.decode()


def test_a_change_that_lies_elsewhere_is_a_note(tmp_path: Path) -> None:
    """The rest of the run is shown, and only --diff itself fails."""
    fill(tmp_path)
    shutil.rmtree(tmp_path / "artifacts")

    code, out, err = steelyard(tmp_path, "show", "run_00002")

    assert code == 0
    assert "scorers: OVERALL FAIL" in out
    assert "it was pruned or never copied here" in err
    assert document(tmp_path, "show", "run_00002")["diff"] is None
    assert steelyard(tmp_path, "show", "run_00002", "--diff")[0] == 2


def test_an_infrastructure_failure_is_shown_as_ours(tmp_path: Path) -> None:
    """`latest` is the last run stored; it has no score, and says why."""
    fill(tmp_path)

    code, out, _ = steelyard(tmp_path, "show", "latest")

    assert code == 0
    assert "infrastructure failure network: no route" in out
    assert "Unranked (an infrastructure failure is not scored)" in out


def test_programs_get_the_whole_record(tmp_path: Path) -> None:
    """One JSON document, with the parts that were asked for."""
    fill(tmp_path)

    shown = document(tmp_path, "show", "run_00002", "--diff", "--trajectory", "--output")

    assert shown["run_id"] == "run_00002"
    assert shown["overall"] == "FAIL"
    assert shown["scorecards"][0]["score"] == shown["score"]
    assert shown["judgements"][0]["verdict"] == "PASS"
    assert shown["diff"] == DIFF.decode("utf-8", "backslashreplace")
    assert shown["trajectory"] == {"steps": [STEP]}
    assert shown["output"] == {"stdout": "out\n"}


def test_an_unclear_name_is_told_in_one_line(tmp_path: Path) -> None:
    """More than one run starts like that, or none does."""
    fill(tmp_path)

    code, _, several = steelyard(tmp_path, "show", "run_")
    none_code, _, none = steelyard(tmp_path, "show", "absent")

    assert (code, none_code) == (2, 2)
    assert "the start of more than one run: run_00001, run_00002, run_00003" in several
    assert "no run 'absent' is stored" in none
