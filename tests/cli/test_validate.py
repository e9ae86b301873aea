"""steelyard validate: exit codes, JSON, and what the arms differ in."""

import json
from pathlib import Path

import pytest

from steelyard.cli.main import main

GOOD = """\
tasks:
  - {id: t, prompt: "Do it.", seed: {empty: true}}
arms:
  plain: {agent: command, command: "true"}
  guided: {agent: command, command: "true", model: m, overlay: guide}
repeats: 3
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A good suite with an overlay."""
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide/CLAUDE.md").write_text("Be brief.\n")
    file = tmp_path / "suite.yaml"
    file.write_text(GOOD)
    return file


def validate(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as left:
        main(["validate", *words])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_a_good_suite_is_counted(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many runs it makes, in one line."""
    code, out, err = validate(capsys, str(suite))

    assert (code, err) == (0, "")
    assert out == f"{suite}: fine: 1 task × 2 arms × 3 repeats = 6 runs\n"


def test_json_names_tasks_by_their_sha256(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document and nothing else."""
    code, out, _ = validate(capsys, str(suite), "--json")

    document = json.loads(out)
    assert code == 0
    assert document["valid"] is True
    assert (document["arms"], document["runs"]) == (["plain", "guided"], 6)
    assert document["tasks"][0]["id"] == "t"
    assert len(document["tasks"][0]["sha256"]) == 64
    assert "differences" not in document


def test_mistakes_are_lines_that_open_with_their_place(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, on stderr, so that an editor can jump to each."""
    suite.write_text(GOOD.replace("repeats: 3", "repeats: x\nfoo: 1"))

    code, out, err = validate(capsys, str(suite))

    assert (code, out) == (2, "")
    assert [line.split(": ")[0] for line in err.splitlines()] == [f"{suite}:6:10", f"{suite}:7:1"]


def test_mistakes_as_json(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same on stdout, for programs, with exit code 2."""
    suite.write_text(GOOD.replace("repeats: 3", "repeats: x"))

    code, out, err = validate(capsys, str(suite), "--json")

    assert (code, err) == (2, "")
    assert json.loads(out) == {
        "valid": False,
        "file": str(suite),
        "problems": [
            {"line": 6, "column": 10, "field": "repeats", "message": "must be an integer, not the text 'x'"},
        ],
    }


def test_a_missing_file_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program sees the same shape."""
    code, out, _ = validate(capsys, str(tmp_path / "nix.yaml"), "--json")

    assert code == 2
    assert json.loads(out)["problems"] == [
        {"line": None, "column": None, "field": None, "message": "there is no such file"}
    ]


def test_arms_are_told_apart(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fields with both values, and overlay files with their diff."""
    code, out, _ = validate(capsys, str(suite), "--diff-arms")

    assert code == 0
    assert out.splitlines()[2:] == [
        "plain → guided",
        '  model: nothing → "m"',
        "  overlay file added: CLAUDE.md",
        "    --- a/CLAUDE.md",
        "    +++ b/CLAUDE.md",
        "    @@ -0,0 +1 @@",
        "    +Be brief.",
    ]


def test_arms_that_are_the_same_are_said_to_be(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing can come of such a comparison."""
    suite.write_text(GOOD.replace(", model: m, overlay: guide", ""))

    assert "no difference: these arms can only differ by chance" in validate(capsys, str(suite), "--diff-arms")[1]


def test_differences_as_json(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One entry an arm."""
    _, out, _ = validate(capsys, str(suite), "--diff-arms", "--json")

    (difference,) = json.loads(out)["differences"]
    assert (difference["baseline"], difference["arm"]) == ("plain", "guided")
    assert difference["fields"] == [{"field": "model", "baseline": None, "arm": "m"}]
    assert [file["path"] for file in difference["files"]] == ["CLAUDE.md"]


def test_scorers_that_never_run_are_pointed_at(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A task that lost its seed would otherwise look graded."""
    suite.write_text(GOOD.replace("seed: {empty: true}", "scorers: [{name: s, type: forbid_secrets}]"))

    code, _, err = validate(capsys, str(suite))

    assert code == 0
    assert err == "note: task 't' has no seed: it is judged only, and its scorers never run\n"
