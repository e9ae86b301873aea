"""steelyard runs."""

from pathlib import Path

import pytest

from steelyard.cli.stored import since
from steelyard.errors import InputError
from tests.store.home import document, fill, steelyard


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    """A line a run, aligned, with the disagreement and the experiment named; no terminal code in it."""
    fill(tmp_path)

    code, out, _ = steelyard(tmp_path, "runs")

    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == [
        *("run", "task", "arm", "#", "outcome", "objective", "judge", "score", "tier", "wall", "cost", "finished")
    ]
    assert [line.split()[0] for line in lines[1:4]] == ["run_00003", "run_00002", "run_00001"]
    assert "FAILED (network)" in lines[1]
    assert lines[4] == "run_00002: plausible but violates a hard constraint"
    assert lines[5] == "experiments: exp_1 (3 runs)"
    assert "\x1b" not in out


def test_filters_and_limits_go_together(tmp_path: Path) -> None:
    """JSON for programs, with gates and tags, and whether there is more."""
    fill(tmp_path)

    page = document(tmp_path, "runs", "--experiment", "latest", "--since", "2026-01-01", "--limit", "2")
    fancy = document(tmp_path, "runs", "--arm", "fancy", "--outcome", "BLOCKED", "--verdict", "PASS", "--disagree")

    assert [run["run_id"] for run in page["runs"]] == ["run_00003", "run_00002"]
    assert page["has_more"] is True
    (run,) = fancy["runs"]
    assert run["gates"] == {"objective": "FAIL", "judge": "PASS", "run": "PASS"}
    assert run["tags"] == ["bugfix", "ü"]
    assert (run["infrastructure"], run["replaced"], fancy["has_more"]) == (False, False, False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--limit", "0"), "--limit 0: allowed: 1 to 10000"),
        (("--since", "yesterday"), "--since 'yesterday': allowed: 2026-01-31"),
        (("--experiment", "none"), "no experiment 'none' is stored"),
    ],
)
def test_a_wrong_word_is_told_in_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    """What is wrong and what is allowed; exit code 2."""
    fill(tmp_path)

    code, out, err = steelyard(tmp_path, "runs", *words)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_without_a_store_none_is_made(tmp_path: Path) -> None:
    """Looking leaves nothing behind."""
    code, _, err = steelyard(tmp_path / "none", "runs")

    assert code == 2
    assert "there is no store at" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["1h", "30d", "2026-01-31", "2026-01-31T10:00:00+02:00"])
def test_times_are_dates_instants_or_ages(text: str) -> None:
    """All become an instant in UTC of one width."""
    assert len(since("--since", text)) == len("2026-01-31T08:00:00.000000Z")


@pytest.mark.parametrize("text", ["", "d", "1y", "-1d", "999999w", "2026-13-01", "0001-01-01T00:00:00+14:00"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """Never a traceback."""
    with pytest.raises(InputError, match="--since"):
        since("--since", text)
