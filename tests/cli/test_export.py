"""steelyard export."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.store.home import document, fill, steelyard


def test_every_run_that_counts_is_a_line(tmp_path: Path) -> None:
    """With score, tier and composite; an infrastructure failure has none of them."""
    fill(tmp_path)

    code, out, said = steelyard(tmp_path, "export", "exp_1")

    assert code == 0, said
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["run_id"] for line in lines] == ["run_00001", "run_00002", "run_00003"]
    assert (lines[1]["success"], lines[1]["judge01"], lines[1]["objective_total"]) == (False, 0.75, 1)
    shown = document(tmp_path, "show", "run_00002")["judgements"][-1]
    assert lines[1]["judge"] == {name: value for name, value in shown.items() if name not in ("raw", "members")}
    assert "judge" not in lines[2]
    assert lines[0]["score"] == document(tmp_path, "show", "run_00001")["score"]
    assert (lines[2]["error_class"], lines[2]["score"], lines[2]["tier"]) == ("network", None, "Unranked")
    assert lines[2]["composite"] is None


def test_all_formats_say_the_same(tmp_path: Path) -> None:
    """JSON lines, CSV, Parquet read back, and --json hold the same records."""
    fill(tmp_path)
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        told = document(tmp_path, "export", "--all", "-o", str(tmp_path / name))
        assert (told["records"], told["format"], told["experiments"]) == (3, name.partition(".")[2], ["exp_1"])

    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    table = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    other = tmp_path / "other"
    document(other, "import", str(tmp_path / "a.parquet"), "--experiment", "p")
    read = document(other, "export", "p")["records"]

    assert document(tmp_path, "export", "exp_1")["records"] == lines
    assert [row["run_id"] for row in table] == [line["run_id"] for line in lines]
    assert [float(row["duration_seconds"]) for row in table] == [line["duration_seconds"] for line in lines]
    known = [{name: value for name, value in line.items() if value is not None} for line in (*read, *lines)]
    assert known[:3] == known[3:]


def test_an_export_is_imported_elsewhere_and_comes_back(tmp_path: Path) -> None:
    """Out of one store, into another, out again: the same bytes."""
    fill(tmp_path)
    file, other = tmp_path / "runs.jsonl", tmp_path / "other"
    steelyard(tmp_path, "export", "exp_1", "-o", str(file))
    document(other, "import", str(file))

    assert steelyard(other, "export", "runs")[1] == file.read_text()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A directory that is not there is one line, and a file that was there stays."""
    fill(tmp_path)
    kept = tmp_path / "kept.jsonl"
    kept.write_text("kept\n")

    assert steelyard(tmp_path, "export", "exp_none", "-o", str(kept))[0] == 2
    code, _, said = steelyard(tmp_path, "export", "exp_1", "-o", str(tmp_path / "no/where.jsonl"))

    assert code == 2
    assert "can't be written" in said
    assert kept.read_text() == "kept\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["exp_1", "--all"],
        ["exp_1", "--format", "parquet"],
        ["exp_1", "--format", "xml"],
        ["exp_1", "-o", "x.xml"],
        ["exp_1", "-o", "/tmp"],
        ["exp_1", "--json", "--format", "csv"],
    ],
)
def test_wrong_input_is_one_line(tmp_path: Path, words: list[str]) -> None:
    """Exit code 2, never a traceback."""
    fill(tmp_path)

    code, _, said = steelyard(tmp_path, "export", *words)

    assert code == 2
    assert len(said.strip().splitlines()) == 1
