"""steelyard init: a suite that runs as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.cli.main import main

START = [sys.executable, "-c", "from steelyard.cli.main import main; main()"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as left:
        main(list(words))
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_it_writes_a_suite_and_says_what_is_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file is named, and the last line is the next command."""
    code, out, _ = run(capsys, "init", str(tmp_path / "new"))

    assert code == 0
    assert out.splitlines()[-1] == f"next: steelyard run {tmp_path}/new/steelyard.yaml"
    assert run(capsys, "validate", str(tmp_path / "new/steelyard.yaml"))[0] == 0


def test_json_names_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document, with paths that exist."""
    code, out, _ = run(capsys, "init", str(tmp_path), "--agent", "scripted", "--json")

    document = json.loads(out)
    assert code == 0
    assert document["suite"] == str(tmp_path / "steelyard.yaml")
    assert all(Path(path).is_file() for path in document["files"])


def test_a_second_init_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what is in the way, with exit code 2, and leaves every byte."""
    run(capsys, "init", str(tmp_path))
    (tmp_path / "steelyard.yaml").write_text("mine\n")

    code, _, err = run(capsys, "init", str(tmp_path))

    assert code == 2
    assert "is there already and is never overwritten" in err
    assert (tmp_path / "steelyard.yaml").read_text() == "mine\n"


def test_a_directory_that_cannot_be_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in the place of the directory."""
    (tmp_path / "file").write_text("")

    code, _, err = run(capsys, "init", str(tmp_path / "file"))

    assert code == 2
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("agent", ["command", "scripted"])
def test_the_suite_runs_as_it_is(tmp_path: Path, agent: str) -> None:
    """Real processes, real git, a real store: the fixer passes, the idle arm fails, and the verdict says so."""
    env = os.environ | {"STEELYARD_HOME": str(tmp_path / "home"), "STEELYARD_SCRATCH": str(tmp_path / "scratch")}
    (tmp_path / "scratch").mkdir()
    subprocess.run([*START, "init", "try", "--agent", agent], cwd=tmp_path, env=env, check=True, timeout=60)

    done = subprocess.run(
        [*START, "run", "try/steelyard.yaml", "--sandbox", "local", "--judge", "none", "--json"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert {(run["arm"], run["overall"]) for run in runs} == {("idle", "FAIL"), ("fixer", "PASS")}
    assert len(runs) == 4
