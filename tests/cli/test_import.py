"""steelyard import, and export giving back what was imported."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.domain.run_record import RunRecord
from steelyard.formulas.imported import Destination, run_of_record
from steelyard.formulas.records import record_of
from tests.store.home import document, fill, steelyard

RECORD: dict[str, Any] = {
    "run_id": "r1",
    "task_id": "t",
    "arm": "a",
    "repeat": 1,
    "success": True,
    "duration_seconds": 81,
    "total_cost_usd": 0.19,
    "input_tokens": 4100,
    "output_tokens": 900,
    "cache_read_tokens": 0,
    "cache_write_tokens": 0,
}
# Odd order, spacing, number forms, unknown fields, escapes, nulls: every byte comes back.
ODD = (
    '{"zz":1e3,"run_id":"r2","arm":"b","task_id":"t","repeat":1,"success":false,"duration_seconds":81.50,'
    '"total_cost_usd":null,"input_tokens":null,"output_tokens":1,"cache_read_tokens":2,"cache_write_tokens":3}'
)
LINES = [
    json.dumps({**RECORD, "score": 87, "tier": "Gold", "composite": 0.75, "zz": {"b": 1, "a": [1.0, "ü"]}}),
    ODD,
    json.dumps({**RECORD, "run_id": "r3", "repeat": 2, "success": False, "error_class": "network"}),
    json.dumps(
        {**RECORD, "run_id": "r4", "repeat": 2, "name": "\u00e9\u2028", "started_at": "2026-01-31T12:00:00+02:00"}
    ),
    json.dumps(
        {**RECORD, "run_id": "r5", "arm": "b", "repeat": 2, "error_class": "odd one", "started_at": "yesterday"}
    ),
]


def write(folder: Path, *lines: str, name: str = "night.jsonl") -> Path:
    """A file of lines."""
    path = folder / name
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


def test_a_round_trip_changes_nothing(tmp_path: Path) -> None:
    """Byte for byte and in order; the same file again adds nothing."""
    file, home = write(tmp_path, *LINES), tmp_path / "home"

    first = document(home, "import", str(file))
    second = document(home, "import", str(file))
    code, out, said = steelyard(home, "export", "night")

    assert (first["experiment"], first["workspace"], first["added"]) == ("night", "imported", 5)
    assert (second["added"], second["unchanged"]) == (0, 5)
    assert code == 0, said
    assert out.encode() == file.read_bytes()


def test_what_is_unknown_stays_unknown_and_a_score_is_kept(tmp_path: Path) -> None:
    """`runs` and `show` state what the record states, and say that there is no diff."""
    home = tmp_path / "home"
    document(home, "import", str(write(tmp_path, *LINES)))

    runs = {run["run_id"]: run for run in document(home, "runs")["runs"]}
    code, out, _ = steelyard(home, "show", "r1", "--diff")

    assert (runs["r1"]["score"], runs["r1"]["tier"], runs["r2"]["score"]) == (87, "Gold", None)
    assert (runs["r2"]["cost_usd"], runs["r2"]["input_tokens"], runs["r2"]["total_tokens"]) == (None, None, None)
    assert (runs["r3"]["error_class"], runs["r3"]["infrastructure"]) == ("network", True)
    assert (runs["r5"]["error_class"], runs["r5"]["gates"]["run"]) == (None, "FAIL")
    assert runs["r4"]["started_at"] == "2026-01-31T10:00:00.000000Z"
    assert code == 0
    assert "scorecard: 87 Gold (an imported run" in out
    assert "there is no diff, trajectory or output" in out
    shown = document(home, "show", "r1")
    assert (shown["score"], shown["tier"], shown["scorecards"]) == (87, "Gold", [])


def test_an_import_is_compared_as_its_records_are(tmp_path: Path) -> None:
    """`compare` of the experiment and of the file say the same, number for number."""
    lines = [
        json.dumps(
            {**RECORD, "run_id": f"{arm}{n}", "arm": arm, "repeat": n, "success": arm == "b", "composite": value}
        )
        for arm, value in (("a", 0.5), ("b", 0.75))
        for n in range(1, 6)
    ]
    file, home = write(tmp_path, *lines), tmp_path / "home"
    document(home, "import", str(file), "--experiment", "e-1", "--workspace", "w")
    arms = ("--baseline", "a", "--candidate", "b")

    stored = document(home, "compare", "e-1", *arms)
    read = document(home, "compare", "--records", str(file), *arms)

    assert stored["verdict"] == "improved"
    same = ("verdict", "promote", "net_composite_gain", "tasks", "arms", "paired", "decision")
    assert {name: stored[name] for name in same} == {name: read[name] for name in same}


@pytest.mark.parametrize(
    ("lines", "place", "words"),
    [
        ([LINES[0], "{", LINES[1]], ":2:", "1 bad line"),
        ([LINES[0], json.dumps({**RECORD, "run_id": "x", "repeat": 0})], ":2: repeat:", "nothing was imported"),
        ([LINES[0], json.dumps({**RECORD, "run_id": "x"})], ":2: repeat:", "at"),
        ([LINES[0], json.dumps({**RECORD, "success": False})], ":2: run_id: another run r1", "never changes"),
        ([json.dumps({**RECORD, "run_id": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"})], ":1:", "secret"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(tmp_path: Path, lines: list[str], place: str, words: str) -> None:
    """Exit code 2, each line by its number, an empty store afterwards."""
    file, home = write(tmp_path, *lines), tmp_path / "home"

    code, _, said = steelyard(home, "import", str(file))

    assert code == 2, said
    assert f"night.jsonl{place}" in said
    assert words in said
    assert "Traceback" not in said
    assert document(home, "runs")["runs"] == []
    assert steelyard(home, "export", "night")[0] == 2  # no experiment was made either


def test_another_body_under_a_stored_name_is_refused(tmp_path: Path) -> None:
    """A run never changes; the other lines of the file are not taken either."""
    home = tmp_path / "home"
    document(home, "import", str(write(tmp_path, *LINES)))
    changed = json.dumps({**RECORD, "duration_seconds": 82})
    other = write(tmp_path, json.dumps({**RECORD, "run_id": "new", "repeat": 9}), changed, name="b.jsonl")

    code, _, said = steelyard(home, "import", str(other), "--experiment", "night")

    assert code == 2
    assert "b.jsonl:2: run_id: another run r1 is stored already" in said
    assert len(document(home, "runs")["runs"]) == 5


def test_more_runs_may_follow_into_the_same_experiment(tmp_path: Path) -> None:
    """And another spelling of the same record is the same record."""
    home = tmp_path / "home"
    document(home, "import", str(write(tmp_path, *LINES)))
    spelled = json.dumps(json.loads(LINES[0]), sort_keys=True, separators=(",", ":"))
    more = write(tmp_path, spelled, json.dumps({**RECORD, "run_id": "new", "repeat": 9}), name="more.jsonl")

    found = document(home, "import", str(more), "--experiment", "night")

    assert (found["added"], found["unchanged"]) == (1, 1)
    assert len(steelyard(home, "export", "night")[1].splitlines()) == 6


def test_a_secret_is_taken_out_and_counted(tmp_path: Path) -> None:
    """Nothing secret is stored; the rest of the record is as it was."""
    home, secret = tmp_path / "home", "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    line = json.dumps({**RECORD, "log": f"token {secret}"})

    found = document(home, "import", str(write(tmp_path, line)))

    out = steelyard(home, "export", "night")[1]
    assert found["redacted"] == 1
    assert secret not in out
    assert json.loads(out) | {"log": ""} == json.loads(line) | {"log": ""}
    assert secret.encode() not in b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_an_experiment_that_was_run_here_takes_no_imports(tmp_path: Path) -> None:
    """Its own runs stay its own; an export of it is known already."""
    fill(tmp_path)
    own = tmp_path / "own.jsonl"
    steelyard(tmp_path, "export", "exp_1", "-o", str(own))

    again = document(tmp_path, "import", str(own))
    code, _, said = steelyard(tmp_path, "import", str(write(tmp_path, LINES[0])), "--experiment", "exp_1")

    assert (again["added"], again["unchanged"]) == (0, 3)
    assert code == 2
    assert "was run here" in said


@pytest.mark.parametrize(
    "words", [["no-such.jsonl"], ["."], ["{file}", "--experiment", "a b"], ["{file}", "--experiment", "latest"]]
)
def test_wrong_input_is_one_line(tmp_path: Path, words: list[str]) -> None:
    """Exit code 2, never a traceback."""
    file = write(tmp_path, LINES[0])

    code, _, said = steelyard(tmp_path / "home", "import", *(word.format(file=file) for word in words))

    assert code == 2
    assert len(said.strip().splitlines()) == 1


def test_an_empty_file_is_said(tmp_path: Path) -> None:
    """There is nothing to import."""
    code, _, said = steelyard(tmp_path / "home", "import", str(write(tmp_path, "", " ")))

    assert code == 2
    assert "no records" in said


names = st.text(min_size=1, max_size=20)
counts = st.none() | st.integers(0, 2**53)


@given(
    st.fixed_dictionaries(
        {
            **dict.fromkeys(("run_id", "task_id", "arm"), names),
            "repeat": st.integers(1, 2**31 - 1),
            "success": st.booleans(),
            "duration_seconds": st.floats(0, 1e300),
            "total_cost_usd": st.none() | st.floats(0, 1e300),
            **{f"{kind}_tokens": counts for kind in ("input", "output", "cache_read", "cache_write")},
        },
        optional={
            "error_class": st.none() | names,
            "started_at": st.none() | names | st.datetimes().map(str),
            "score": st.none() | st.integers(0, 100),
            "composite": st.none() | st.floats(0, 1),
            "other": st.recursive(st.none() | st.booleans() | names, lambda inner: st.lists(inner, max_size=3)),
        },
    )
)
def test_a_run_made_of_a_record_gives_the_record_back(values: dict[str, Any]) -> None:
    """Whatever a record holds, no fact is lost and none is made up."""
    line = json.dumps(values)
    record = RunRecord.model_validate_json(line)

    run = run_of_record(record, line, Destination("e", "w", "2026-01-01T00:00:00.000000Z"))

    assert record_of(run) == record
    assert run.usage.cost_usd == record.total_cost_usd
    assert (run.usage.input_tokens, run.usage.output_tokens) == (record.input_tokens, record.output_tokens)
