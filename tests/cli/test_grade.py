import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.grade import copy_tree

STEELYARD = [sys.executable, "-c", "from steelyard.cli.main import main; main()"]
TOKEN = "ghp" + "_" + "9aKx72LmQ0ZtRw4YbN81cVfGh3UeJp5sDi6o"


def git(repo: Path, *arguments: str) -> None:
    """Run git as somebody who has an identity."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=repo, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with one commit: a module, its test, and a rule that ignores build/."""
    place = tmp_path / "repo"
    (place / "tests").mkdir(parents=True)
    (place / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (place / "tests" / "test_calc.py").write_text("from calc import add\nassert add(1, 2) == 3\n")
    (place / ".gitignore").write_text("build/\n")
    git(place, "init", "-q", "-b", "main")
    git(place, "add", ".")
    git(place, "commit", "-qm", "start")
    return place


def grade(repo: Path, scorers: str, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a repository with these scorers, in a scratch place of its own."""
    place = repo.parent
    (place / "scorers.yaml").write_text(scorers)
    command = [*STEELYARD, "grade", str(repo), "--base", "HEAD", "--scorers", str(place / "scorers.yaml"), *options]
    if "--sandbox" not in options:
        command += ["--sandbox", "local"]
    return subprocess.run(command, capture_output=True, text=True, env=environment(place) | env, timeout=240)


def environment(place: Path) -> dict[str, str]:
    """The environment of a command that keeps everything in one place."""
    return os.environ | {"STEELYARD_SCRATCH": str(place / "scratch"), "STEELYARD_HOME": str(place / "home")}


def answered(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one JSON document on stdout."""
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def snapshot(repo: Path) -> dict[str, bytes]:
    """Every file of a checkout, git's own too."""
    return {str(path): path.read_bytes() for path in sorted(repo.rglob("*")) if path.is_file()}


def test_a_good_change_passes(repo: Path) -> None:
    """The fix passes its test and the frozen test is as it was: exit 0, and JSON with the promised fields."""
    (repo / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    scorers = (
        "scorers:\n"
        f'  - {{name: unit, type: command, command: "PYTHONPATH=. {sys.executable} tests/test_calc.py"}}\n'
        "  - {name: frozen, type: tests_unmodified, paths: [tests/test_calc.py]}\n"
        "  - {name: where, type: allowed_paths, patterns: ['*.py']}\n"
    )
    result = grade(repo, scorers, "--json")
    document = answered(result)
    assert result.returncode == 0, result.stderr
    assert (document["overall"], document["mean_score"], document["changed_files"]) == ("PASS", 1.0, ["calc.py"])
    assert [scorer["name"] for scorer in document["scorers"]] == ["unit", "frozen", "where"]
    fields = {"name", "type", "verdict", "score", "required", "detail", "output_tail", "duration_s"}
    assert all(fields <= scorer.keys() for scorer in document["scorers"])


def test_a_gamed_change_fails_with_its_reasons(repo: Path) -> None:
    """An edited test, a secret and a failing command: exit 1, a table, findings, and never the secret."""
    (repo / "tests" / "test_calc.py").write_text(f"KEY = '{TOKEN}'\n")
    scorers = (
        "- {name: frozen, type: tests_unmodified, paths: [tests/test_calc.py]}\n"
        "- {name: secrets, type: forbid_secrets}\n"
        '- {name: unit, type: command, command: "cat tests/test_calc.py; exit 5"}\n'
    )
    result = grade(repo, scorers)
    assert result.returncode == 1
    assert "1 changed file against HEAD" in result.stdout
    assert "tests/test_calc.py was edited" in result.stdout
    assert "tests/test_calc.py:1: github-personal-token: secret (ghp_…, 40 characters)" in result.stdout
    assert "exit code 5" in result.stdout
    assert "KEY = '[redacted:github-personal-token]'" in result.stdout
    assert result.stdout.rstrip().endswith("OVERALL FAIL, mean score 0.000")
    assert TOKEN not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("trick", "said"),
    [
        (lambda repo: (repo / "tests/test_calc.py").unlink(), "was deleted"),
        (lambda repo: (repo / "tests/test_calc.py").rename(repo / "tests/other.py"), "was renamed to tests/other.py"),
        (lambda repo: (repo / "tests/test_calc.py").chmod(0o755), "mode changed from 100644 to 100755"),
        (lambda repo: git(repo, "update-index", "--assume-unchanged", "tests/test_calc.py"), None),
        (lambda repo: (repo / ".git/info/exclude").write_text("*\n"), None),
    ],
)
def test_frozen_files_in_a_real_repository(repo: Path, trick: Any, said: str | None) -> None:
    """Deletion, renames and modes are seen through git's own tricks for hiding an edit."""
    if said is None:
        (repo / "tests" / "test_calc.py").write_text("pass\n")
        said = "was edited"
    trick(repo)
    result = grade(repo, "- {name: frozen, type: tests_unmodified, paths: [tests/test_calc.py]}", "--json")
    assert said in answered(result)["scorers"][0]["detail"]
    assert result.returncode == 1


def test_nothing_in_the_checkout_changes(repo: Path) -> None:
    """Commands write, delete and change files, in a copy: the checkout and the scratch place are as before."""
    (repo / "build").mkdir()
    (repo / "build" / "out").write_text("made")
    before = snapshot(repo)
    command = "echo x > new; rm calc.py; echo y >> tests/test_calc.py; test -f build/out"
    scorers = f'- {{name: x, type: command, command: "{command}"}}\n- {{name: next, type: command, command: "true"}}'
    result = grade(repo, scorers, "--json")
    assert result.returncode == 0, result.stdout
    assert "2 files that it changed put back: calc.py, tests/test_calc.py" in answered(result)["scorers"][0]["detail"]
    assert snapshot(repo) == before
    assert list((repo.parent / "scratch").iterdir()) == []


def test_ignored_files_are_there_unless_fresh_is_asked_for(repo: Path) -> None:
    """The default copies what git ignores, dependencies for example; --fresh takes base and change alone."""
    (repo / "build").mkdir()
    (repo / "build" / "out").write_text("made")
    (repo / "added.py").write_text("x = 1\n")
    scorers = (
        "- {name: made, type: file_exists, path: build/out}\n"
        "- {name: new, type: file_exists, path: added.py}\n"
        "- {name: seen, type: command, command: test -f added.py}\n"
    )
    usual = answered(grade(repo, scorers, "--json"))
    fresh = answered(grade(repo, scorers, "--json", "--fresh"))
    assert [scorer["verdict"] for scorer in usual["scorers"]] == ["PASS", "PASS", "PASS"]
    assert [scorer["verdict"] for scorer in fresh["scorers"]] == ["FAIL", "PASS", "PASS"]


def test_advisory_scorers_never_fail(repo: Path) -> None:
    """A warning is shown and OVERALL is PASS all the same: exit 0."""
    (repo / "calc.py").write_text("changed\n")
    result = grade(repo, "- {name: x, type: max_files_changed, limit: 0, required: false}", "--json")
    document = answered(result)
    assert document["scorers"][0]["verdict"] == "FAIL"
    assert (document["overall"], result.returncode) == ("PASS", 0)


@pytest.mark.parametrize(
    ("scorers", "options", "said"),
    [
        ("- {name: x, type: comand, command: ls}", (), "did you mean 'command'?"),
        ("- {name: x, type: file_exists, path: ../up}", (), "'..'"),
        ("- {name: x, type: command, command: ls, timeout: 3}", (), "did you mean 'timeout_s'?"),
        ("- {name: x, type: max_files_changed}", (), "limit"),
        ("just text", (), "must be a list"),
        ("- {name: x, type: llm_judge, rubric: y}", ("--base", "nowhere"), "has no revision 'nowhere'"),
        ("- {name: x, type: command, command: ls}", ("--sandbox", "cloud"), "unknown sandbox 'cloud'"),
    ],
)
def test_wrong_input_gets_a_line_and_exit_2(repo: Path, scorers: str, options: tuple[str, ...], said: str) -> None:
    """A mistake names itself; nothing runs, nothing is printed on stdout, no traceback."""
    result = grade(repo, scorers, *options)
    assert result.returncode == 2
    assert said in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_directory_that_is_no_repository(tmp_path: Path) -> None:
    """Outside of git there is nothing to grade against."""
    (tmp_path / "plain").mkdir()
    result = grade(tmp_path / "plain", "- {name: x, type: forbid_secrets}")
    assert result.returncode == 2
    assert "git repository" in result.stderr


PACKAGE = '''
from typing import Literal

from steelyard.domain.grade import failed, passed
from steelyard.scorers.base import Scorer


class Shout(Scorer):
    """FAIL when an added line has no capital letter."""

    type: Literal["shout"] = "shout"
    loud: bool = True

    def score(self, evidence, sandbox):
        if not self.loud:
            raise RuntimeError("lost my voice")
        lines = [text for change in evidence.diff.files for _, text in change.added]
        return passed("loud enough") if all(map(str.isupper, lines)) else failed("too quiet")
'''


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory with an installed package that brings a scorer."""
    place = tmp_path / "site"
    info = place / "shouting-1.0.dist-info"
    info.mkdir(parents=True)
    (place / "shouting.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[steelyard.scorers]\nshout = shouting:Shout\n")
    (info / "RECORD").write_text("shouting.py,,\n")
    return place


def test_a_scorer_of_an_installed_package(repo: Path, outside: Path) -> None:
    """An entry point is all that an outside scorer needs: it is validated, run and named like any other."""
    (repo / "calc.py").write_text("quiet\n")
    result = grade(repo, "- {name: loud, type: shout}", "--json", PYTHONPATH=str(outside))
    (scorer,) = answered(result)["scorers"]
    assert (scorer["type"], scorer["verdict"], scorer["detail"]) == ("shout", "FAIL", "too quiet")
    assert result.returncode == 1
    wrong = grade(repo, "- {name: loud, type: shout, volume: 3}", PYTHONPATH=str(outside))
    assert wrong.returncode == 2
    assert "volume" in wrong.stderr


def test_a_crashed_scorer_is_exit_3_and_the_others_still_run(repo: Path, outside: Path) -> None:
    """Our side's fault is told apart from a bad change; it fails closed."""
    scorers = "- {name: hoarse, type: shout, loud: false}\n- {name: small, type: max_files_changed, limit: 1}\n"
    result = grade(repo, scorers, "--json", PYTHONPATH=str(outside))
    document = answered(result)
    assert result.returncode == 3
    assert document["overall"] == "FAIL"
    assert document["scorers"][0]["detail"] == "the scorer itself crashed: RuntimeError: lost my voice"
    assert document["scorers"][1]["verdict"] == "PASS"


@pytest.mark.bwrap
def test_in_a_sandbox_that_isolates(repo: Path) -> None:
    """The same grading in bubblewrap: the command sees the copy and nothing of it stays."""
    (repo / "calc.py").write_text("fixed\n")
    result = grade(repo, "- {name: x, type: command, command: grep -q fixed calc.py}", "--json", "--sandbox", "bwrap")
    assert answered(result)["overall"] == "PASS", result.stderr
    assert list((repo.parent / "scratch").iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_stopping_it_leaves_nothing_behind(repo: Path, how: signal.Signals) -> None:
    """Ctrl-C and a cancelled job end the command that runs and remove the copy."""
    started = repo.parent / "started"
    (repo.parent / "scorers.yaml").write_text(
        f"- {{name: slow, type: command, command: 'echo $$ > {started}; exec sleep 600'}}\n"
    )
    command = [*STEELYARD, "grade", str(repo), "--base", "HEAD", "--sandbox", "local"]
    command += ["--scorers", str(repo.parent / "scorers.yaml")]
    process = subprocess.Popen(
        command, env=environment(repo.parent), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
    )
    try:
        wait_for(lambda: started.exists() and started.read_text().strip() != "")
        process.send_signal(how)
        assert process.wait(120) == 130
    finally:
        process.kill()
        process.wait()
    wait_for(lambda: not Path("/proc", started.read_text().strip()).exists())
    assert list((repo.parent / "scratch").iterdir()) == []


def wait_for(holds: Any) -> None:
    """Wait until a condition holds, for two minutes at most."""
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def test_a_copy_leaves_out_what_has_no_place_in_it(tmp_path: Path) -> None:
    """Git directories at any depth, the harness's own home, fifos and nothing else stay behind; links stay links."""
    source = tmp_path / "source"
    (source / "sub" / ".git").mkdir(parents=True)
    (source / ".steelyard").mkdir()
    (source / "sub" / "a.py").write_text("x")
    os.mkfifo(source / "pipe")
    (source / "link").symlink_to("/nowhere")
    copy_tree(source, tmp_path / "copy", leave_out=source / ".steelyard")
    assert sorted(str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")) == [
        "link",
        "sub",
        "sub/a.py",
    ]
    assert (tmp_path / "copy" / "link").is_symlink()


def test_what_vanishes_while_it_is_copied_is_not_there(tmp_path: Path) -> None:
    """Builds and editors come and go in a checkout: that is no reason not to grade it."""
    source = tmp_path / "source"
    for number in range(40):
        (source / f"d{number}").mkdir(parents=True)
        (source / f"d{number}" / "kept").write_text("x")
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            for number in range(40):
                (source / f"d{number}" / "passing").write_text("x")
            for number in range(40):
                (source / f"d{number}" / "passing").unlink()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for turn in range(20):
            copy_tree(source, tmp_path / f"copy-{turn}", leave_out=tmp_path / "home")
    finally:
        stop.set()
        thread.join()

    assert all(len(list((tmp_path / f"copy-{turn}").rglob("kept"))) == 40 for turn in range(20))


def test_a_repository_with_a_missing_object_is_named(repo: Path) -> None:
    """What the base had can't be told any more; the object is named, with what to do."""
    done = subprocess.run(["git", "rev-parse", "HEAD:calc.py"], cwd=repo, capture_output=True, text=True, check=True)
    oid = done.stdout.strip()
    (repo / ".git" / "objects" / oid[:2] / oid[2:]).unlink()

    result = grade(repo, "- {name: few, type: max_files_changed, limit: 1}")

    assert (result.returncode, result.stdout) == (2, "")
    assert f"the object {oid} of 'calc.py' is missing" in result.stderr
