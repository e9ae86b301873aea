"""Run records in and out of files: the quick reader and the line reader give the same tables and the same words."""

import csv
import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.compare.table import NUMBERS, RecordTable
from steelyard.compare.weigh import weigh
from steelyard.domain.run_record import RunRecord
from steelyard.errors import InputError
from steelyard.interop.columns import table_from_json, whole_lines
from steelyard.interop.lines import LONGEST_LINE
from steelyard.interop.records import iterate_records, read_records, write_records
from tests.compare.support import record


def line(**fields: Any) -> str:
    """One good line, or one that is changed; a field set to ... is left out."""
    known: dict[str, Any] = {
        "run_id": "r1",
        "task_id": "t",
        "arm": "a",
        "repeat": 1,
        "success": True,
        "duration_seconds": 1.5,
        "total_cost_usd": 0.25,
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_read_tokens": 30,
        "cache_write_tokens": 40,
    }
    return json.dumps({name: value for name, value in (known | fields).items() if value is not ...})


def good() -> list[str]:
    """Three good lines with what may differ between them."""
    return [
        line(),
        line(repeat=2, total_cost_usd=None, input_tokens=None, composite=0.5, error_class="network", mood="calm"),
        line(
            arm="b ü 😀",
            duration_seconds=3,
            step_count=4,
            judge01=1,
            objective_passed=1,
            objective_total=2,
            tier="Gold",
        ),
    ]


def same(a: RecordTable, b: RecordTable) -> bool:
    """Whether two tables hold the same."""
    columns = all(np.array_equal(a.number(name), b.number(name), equal_nan=True) for name in NUMBERS)
    codes = all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in ("task", "arm", "error", "repeat", "success")
    )
    names = (a.tasks, a.arms, a.errors, list(a.run_ids)) == (b.tasks, b.arms, b.errors, list(b.run_ids))
    return columns and codes and names


def write(path: Path, lines: list[str]) -> Path:
    """A file of lines."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_both_readers_give_the_same_table(tmp_path: Path) -> None:
    """With Polars and without, from one file and from two."""
    one = write(tmp_path / "one.jsonl", good())
    two = write(tmp_path / "two.jsonl", [line(task_id="another", run_id="r9")])
    assert table_from_json([one, two]) is not None
    quick, slow = read_records([one, two]), read_records([one, two], fast=False)
    assert same(quick.table, slow.table)
    assert quick.table.tasks == ("another", "t")
    assert quick.table.arms == ("a", "b ü 😀")


def test_a_very_large_file_is_read_block_by_block(tmp_path: Path) -> None:
    """The same table as from a file that is mapped, also without an end of line at the end."""
    path = write(tmp_path / "r.jsonl", good())
    for text in (path.read_bytes(), path.read_bytes().rstrip(b"\n")):
        path.write_bytes(text)
        mapped, blocks = table_from_json([path]), table_from_json([path], mapped=1)
        assert mapped is not None
        assert blocks is not None
        assert same(mapped, blocks)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """What comes from another program can't be looked at twice, and need not be."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: write(pipe, good()))
    writer.start()
    found = read_records([pipe]).table
    writer.join()
    assert same(found, read_records([write(tmp_path / "r.jsonl", good())]).table)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_blocks_hold_whole_lines(tmp_path: Path, size: int) -> None:
    """Whatever the size of a block, no line is cut and none is lost; a line without end is given up."""
    path = tmp_path / "lines"
    path.write_bytes(b"one\n\ntwo two\nthree")
    blocks = list(whole_lines(path, size))
    assert b"".join(block or b"?" for block in blocks) == path.read_bytes()
    assert all(block is not None and block.endswith(b"\n") for block in blocks[:-1])
    path.write_bytes(b"x" * (LONGEST_LINE + 2 * size))
    assert list(whole_lines(path, max(size, 1 << 20))) == [None]


BAD = {
    "a string where a number belongs": (line(duration_seconds="1.5"), "duration_seconds: must be a number, not '1.5'"),
    "a negative duration": (line(duration_seconds=-1), "duration_seconds: must be at least 0, not -1"),
    "a negative cost": (line(total_cost_usd=-0.5), "total_cost_usd: must be at least 0, not -0.5"),
    "a repeat of zero": (line(repeat=0), "repeat: must be at least 1, not 0"),
    "a fraction of a token": (line(input_tokens=1.5), "input_tokens: must be a whole number, not 1.5"),
    "a missing field": (line(success=...), "success: is required"),
    "a missing field that may be null": (line(total_cost_usd=...), "total_cost_usd: is required"),
    "a null that may not be": (line(success=None), "success: must be true or false, not null"),
    "a number for a name": (line(task_id=5), "task_id: must be a string, not 5"),
    "a number for a run id": (line(run_id=5), "run_id: must be a string, not 5"),
    "an object for a run id": (line(run_id={"a": 1}), "run_id: must be a string"),
    "an empty name": (line(arm=""), "arm: must not be empty, not ''"),
    "a judge above 1": (line(judge01=1.5), "judge01: must be at most 1, not 1.5"),
    "a number as a flag": (line(success=1), "success: must be true or false, not 1"),
    "no object": ("[1, 2]", "the whole object: must be an object"),
    "half a line": (line()[:-5], "not valid JSON"),
    "two objects": (line() + line(), "not valid JSON"),
    "no number at all": (line().replace("1.5", "NaN"), "duration_seconds: must be a finite number, not nan"),
}


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("case", BAD)
def test_a_bad_line_is_named_by_its_number_and_field(tmp_path: Path, case: str, fast: bool) -> None:
    """Strict reading refuses, and both readers use the same words."""
    text, words = BAD[case]
    path = write(tmp_path / "r.jsonl", [line(task_id="fine"), "", text])
    with pytest.raises(InputError) as caught:
        read_records([path], fast=fast)
    assert str(caught.value).startswith(f"{path}:3: {words}")
    assert "--skip-bad" in str(caught.value)


@pytest.mark.parametrize("fast", [True, False])
def test_bad_lines_can_be_skipped_and_are_counted(tmp_path: Path, fast: bool) -> None:
    """The good lines are read, the others counted and named."""
    path = write(tmp_path / "r.jsonl", [line(), *(text for text, _ in BAD.values()), line(repeat=2)])
    reading = read_records([path], skip_bad=True, fast=fast)
    assert (len(reading.table), reading.skipped) == (2, len(BAD))
    assert reading.problems[0].startswith(f"{path}:2: ")


def test_every_bad_line_is_named_the_first_in_words(tmp_path: Path) -> None:
    """Twenty mistakes in words, the other lines by their numbers, all of them counted."""
    path = write(tmp_path / "r.jsonl", [line(repeat=-k) for k in range(30)])
    with pytest.raises(InputError) as caught:
        read_records([path])
    assert str(caught.value).count("repeat: must be at least 1") == 20
    assert f"{path}: also bad: 21, 22, 23, 24, 25, 26, 27, 28, 29, 30\n" in str(caught.value)
    assert "30 bad lines" in str(caught.value)


@pytest.mark.parametrize("fast", [True, False])
def test_the_same_run_twice_is_named_at_both_lines(tmp_path: Path, fast: bool) -> None:
    """The later line is the bad one; skipped, the earlier one counts."""
    path = write(tmp_path / "r.jsonl", [line(run_id="x"), line(repeat=2), line(run_id="y")])
    with pytest.raises(InputError, match=r"r\.jsonl:3: repeat: task 't', arm 'a', repeat 1 was already on line 1"):
        read_records([path], fast=fast)
    reading = read_records([path], fast=fast, skip_bad=True)
    assert (list(reading.table.run_ids), reading.skipped) == (["x", "r1"], 1)


def test_a_retry_after_an_infrastructure_failure_is_no_duplicate(tmp_path: Path) -> None:
    """The failed attempt does not count, so the run is there once."""
    path = write(tmp_path / "r.jsonl", [line(error_class="network"), line()])
    assert read_records([path]).table.counted.tolist() == [False, True]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no records"),
        (b"\n  \n", "no records"),
        (b"\xff\xfe" + line().encode(), "r.jsonl:1: not UTF-8 (byte 1)"),
        (line(task_id="X").encode().replace(b"X", b"\xe9"), "r.jsonl:1: not UTF-8"),
        (b"\x00\x01\x02", "r.jsonl:1: not valid JSON"),
    ],
)
def test_files_that_hold_no_records(tmp_path: Path, content: bytes, words: str, fast: bool) -> None:
    """Empty, blank, another encoding, binary: each has a clear answer."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_records([path], fast=fast)
    assert words in str(caught.value)


@pytest.mark.parametrize("fast", [True, False])
def test_marks_and_ends_of_other_systems_are_fine(tmp_path: Path, fast: bool) -> None:
    """A byte order mark, carriage returns, no last newline."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line().encode() + b"\r\n" + line(repeat=2).encode())
    assert read_records([path], fast=fast).table.repeat.tolist() == [1, 2]


def test_a_line_without_end_is_not_loaded_whole(tmp_path: Path) -> None:
    """A line beyond 16 MB is refused by its number, and the next line is still read."""
    path = tmp_path / "r.jsonl"
    with path.open("wb") as stream:
        stream.write(b'"' + b"x" * (2 * LONGEST_LINE) + b'"\n' + line().encode() + b"\n")
    reading = read_records([path], skip_bad=True)
    assert (len(reading.table), reading.skipped) == (1, 1)
    assert reading.problems[0] == f"{path}:1: longer than 16 MB; one run record a line is expected"


def test_places_that_are_no_files_are_refused(tmp_path: Path) -> None:
    """A directory, nothing, no name at all, two kinds at once."""
    for paths, words in (
        ([tmp_path], "is a directory"),
        ([tmp_path / "none.jsonl"], "no such file"),
        ([], "no records file"),
        ([write(tmp_path / "r.csv", ["run_id,task_id"])], "not from .csv files"),
    ):
        with pytest.raises(InputError, match=words):
            read_records(paths)
    write(tmp_path / "a.jsonl", good())
    write_records([record("t", "a")], tmp_path / "b.parquet")
    with pytest.raises(InputError, match="not both at once"):
        read_records([tmp_path / "a.jsonl", tmp_path / "b.parquet"])


def test_a_number_that_is_not_finite_is_written_as_null(tmp_path: Path) -> None:
    """JSON has no NaN: a composite that is none, and one deep in a field of the record's own."""
    fields = {**record("t", "a").document(), "composite": float("nan"), "own": [{"x": float("inf")}]}

    write_records([RunRecord.model_validate(fields)], tmp_path / "r.jsonl")

    written = json.loads((tmp_path / "r.jsonl").read_text())
    assert written["composite"] is None
    assert written["own"] == [{"x": None}]


def test_jsonl_goes_round_without_a_change(tmp_path: Path) -> None:
    """Known and unknown fields, nulls and missing ones: what was read is what is written."""
    path = write(tmp_path / "r.jsonl", [*good(), line(repeat=9, nested={"a": [1, None, {"b": "ü"}]}, composite=None)])
    count = write_records(iterate_records(path), tmp_path / "out.jsonl")
    before = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    after = [json.loads(text) for text in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert count == 4
    assert after == before


def test_parquet_goes_round_without_a_change(tmp_path: Path) -> None:
    """Unknown fields travel as JSON; the table read from it is the same."""
    path = write(tmp_path / "r.jsonl", [*good(), line(repeat=9, nested={"a": [1, None]})])
    records = list(iterate_records(path))
    write_records(records, tmp_path / "r.parquet")
    assert list(iterate_records(tmp_path / "r.parquet")) == records
    assert same(read_records([tmp_path / "r.parquet"]).table, read_records([path]).table)


def test_csv_has_the_documented_columns(tmp_path: Path) -> None:
    """Known fields in their order, true and false, empty for unknown, the rest as JSON."""
    records = [RunRecord.model_validate_json(text) for text in good()]
    assert write_records(records, tmp_path / "r.csv") == 3
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == [*RunRecord.model_fields, "extra_json"]
    assert (rows[1]["success"], rows[1]["total_cost_usd"], rows[1]["extra_json"]) == ("true", "", '{"mood": "calm"}')
    assert rows[2]["arm"] == "b ü 😀"


def test_bad_parquet_rows_are_named_by_their_number(tmp_path: Path) -> None:
    """Wrong types, wrong numbers, duplicates, missing columns, no Parquet at all."""
    import polars as pl

    rows = [json.loads(text) for text in (line(), line(repeat=0), line(run_id="again"))]
    path = tmp_path / "r.parquet"
    pl.DataFrame(rows).write_parquet(path)
    with pytest.raises(InputError) as caught:
        read_records([path])
    assert f"{path}:2: repeat: must be at least 1, not 0" in str(caught.value)
    assert f"{path}:3: repeat: task 't', arm 'a', repeat 1 was already in row 1" in str(caught.value)
    assert read_records([path], skip_bad=True).skipped == 2
    pl.DataFrame(rows).with_columns(pl.col("input_tokens").cast(pl.String)).write_parquet(path)
    with pytest.raises(InputError, match="input_tokens: must be a whole number, not '10'"):
        read_records([path])
    pl.DataFrame(rows).drop("arm", "success").write_parquet(path)
    with pytest.raises(InputError, match="required columns are missing: arm, success"):
        read_records([path])
    path.write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not a Parquet file"):
        read_records([path])


def test_a_failed_writing_leaves_the_old_file(tmp_path: Path) -> None:
    """Whole or not at all, and nothing beside it."""
    path = write(tmp_path / "r.jsonl", ["old"])

    def broken() -> Any:
        yield record("t", "a")
        raise InputError("the source broke")

    with pytest.raises(InputError, match="the source broke"):
        write_records(broken(), path)
    assert path.read_text(encoding="utf-8") == "old\n"
    assert [file.name for file in tmp_path.iterdir()] == ["r.jsonl"]
    with pytest.raises(InputError, match="known formats: jsonl, csv, parquet"):
        write_records([], path, "xml")
    with pytest.raises(InputError, match="can't be written"):
        write_records([], tmp_path / "none" / "r.jsonl")


def test_a_comparison_from_a_file_is_the_one_from_records(tmp_path: Path) -> None:
    """Columns and records give the same bytes."""
    records = [
        record(f"t{k}", arm, n, composite=(k + n) / 20, input_tokens=n)
        for k in range(6)
        for arm in "ab"
        for n in (1, 2)
    ]
    for name in ("r.jsonl", "r.parquet"):
        write_records(records, tmp_path / name)
        answer = weigh(read_records([tmp_path / name]).table, "b", "a", resamples=300)
        assert answer.model_dump_json() == weigh(records, "b", "a", resamples=300).model_dump_json()


values = st.none() | st.booleans() | st.integers(-3, 2**54) | st.floats(-1, 2) | st.sampled_from(["", "x", "1", "true"])


@given(st.lists(st.tuples(st.sampled_from(sorted(json.loads(line(composite=0.5, score=5)))), values), max_size=2))
def test_the_quick_reader_never_takes_what_the_line_reader_refuses(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, Any]]
) -> None:
    """Whatever is put into a field, both readers agree on the table or on the words."""
    path = write(tmp_path_factory.mktemp("r") / "r.jsonl", [line(task_id="fine"), line(**dict(changes))])
    answers = []
    for fast in (True, False):
        try:
            answers.append(read_records([path], fast=fast).table)
        except InputError as error:
            answers.append(str(error))  # type: ignore[arg-type]  # either of the two
    assert type(answers[0]) is type(answers[1])
    assert answers[0] == answers[1] if isinstance(answers[0], str) else same(answers[0], answers[1])
