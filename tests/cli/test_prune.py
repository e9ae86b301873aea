"""steelyard prune."""

from pathlib import Path

from tests.store.home import document, fill, steelyard


def test_pruning_is_shown_first_and_done_on_request(tmp_path: Path) -> None:
    """Without --yes nothing goes; with it old runs go and young ones stay."""
    fill(tmp_path)

    code, out, err = steelyard(tmp_path, "prune", "--older-than", "2026-02-01")
    assert code == 0
    assert out.startswith("would remove 2 runs finished before 2026-02-01T00:00:00Z")
    assert "nothing was removed" in err
    assert len(document(tmp_path, "runs")["runs"]) == 3

    done = document(tmp_path, "prune", "--older-than", "2026-02-01", "--yes")
    assert (done["removed"], done["runs"]) == (True, 2)
    assert [run["run_id"] for run in document(tmp_path, "runs")["runs"]] == ["run_00003"]


def test_a_wrong_age_is_told(tmp_path: Path) -> None:
    """One line; exit code 2."""
    fill(tmp_path)

    code, _, err = steelyard(tmp_path, "prune", "--older-than", "soon", "--yes")

    assert code == 2
    assert "--older-than 'soon': allowed:" in err
