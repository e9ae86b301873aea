"""The command line itself: what it says to a wrong word, and that it starts nothing it does not need."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard import __version__
from steelyard.cli.main import COMMANDS, main


def steelyard(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as left:
        main(list(words))
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """For people and for scripts."""
    assert steelyard(capsys, "--version") == (0, f"steelyard {__version__}\n", "")


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_lists_every_command(capsys: pytest.CaptureFixture[str], word: str) -> None:
    """With what it does, and an example at the end."""
    code, out, err = steelyard(capsys, word)

    assert (code, err) == (0, "")
    for name, summary in COMMANDS.items():
        assert f"  {name}" in out
        assert summary in out
    assert out.splitlines()[-1].startswith("example: steelyard ")


def test_no_command_at_all_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    """The overview is shown, and a script that forgot the command sees exit code 2."""
    code, out, _ = steelyard(capsys)

    assert code == 2
    assert "commands:" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["vallidate"], "steelyard: unknown command 'vallidate'; did you mean validate? (steelyard --help lists them)"),
        (["qqq"], "steelyard: unknown command 'qqq' (steelyard --help lists them)"),
        (["--versoin"], "steelyard: unknown option --versoin; allowed: --help, --version; did you mean --version?"),
        (["\x1b[31m\n"], "steelyard: unknown command '\\x1b[31m\\n' (steelyard --help lists them)"),
        (["validate", "--jsn", "x"], "steelyard validate: unknown option --jsn; did you mean --json?"),
        (["validate", "x", "--diff-arm"], "steelyard validate: unknown option --diff-arm; did you mean --diff-arms?"),
        (["validate", "x", "--diff_arms=1"], "unknown option --diff_arms; did you mean --diff-arms?"),
        (["validate"], "steelyard validate: SUITE is missing (steelyard validate --help shows an example)"),
        (["validate", "a", "b"], "steelyard validate: unexpected argument 'b' (steelyard validate --help"),
        (["validate", "--json=yes", "x"], "steelyard validate: argument --json: ignored explicit argument 'yes'"),
        (["init", "--agent"], "steelyard init: argument --agent: expected one argument"),
        (["init", "x", "--agent", "comand"], "steelyard: unknown agent 'comand'; allowed: command, "),
        (["schema", "siute"], "steelyard schema: KIND 'siute': allowed: 'suite', 'run-record', 'scorer', 'agent' ("),
        (["run", "x", "--repeats", "two"], "steelyard run: --repeats 'two': allowed: a whole number (steelyard run"),
        (["run", "x", "--max-cost", "all"], "steelyard run: --max-cost 'all': allowed: a number (steelyard run"),
        (["validate", "/nix/suite.yaml"], "/nix/suite.yaml: there is no such file"),
    ],
)
def test_a_wrong_word_gets_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    """On stderr, with what was probably meant; never a traceback, never usage over several lines."""
    code, out, err = steelyard(capsys, *words)

    assert (code, out) == (2, "")
    assert expected in err
    assert len(err.splitlines()) == 1


def run_python(text: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that runs this."""
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["validate", "--help"]])
def test_starting_loads_nothing_heavy(words: list[str]) -> None:
    """Neither pydantic nor YAML nor anything bigger is imported to show a version or a help."""
    text = f"""
import sys
from steelyard.cli.main import main
try:
    main({words!r})
except SystemExit as left:
    assert left.code in (0, None)
heavy = {{"pydantic", "yaml", "sqlalchemy", "numpy", "rich", "alembic"}} & set(sys.modules)
heavy |= {{"argparse"}} & set(sys.modules) if {words!r}[0].startswith("-") else set()
print(sorted(heavy), file=sys.stderr)
"""
    done = run_python(text)

    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"


def test_a_closed_pipe_is_no_failure() -> None:
    """`steelyard schema suite | head -1` ends quietly."""
    command = f"{sys.executable} -c 'from steelyard.cli.main import main; main()' schema suite | head -1"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [("validate nothing.yaml", 2), ("schema suite", 0)])
def test_a_stream_that_takes_nothing_changes_no_exit_code(words: str, code: int, stream: str) -> None:
    """What can't be said is not said; 1 would mean that a candidate regressed."""
    command = f"{sys.executable} -c 'from steelyard.cli.main import main; main()' {words} {stream}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=60, check=False)

    assert done.returncode == code


def test_a_mistake_in_a_program_is_one_line_and_exit_3(tmp_path: Path) -> None:
    """Code that breaks is never taken for a regression, which is Python's own exit code for it."""
    (tmp_path / "outside.py").write_text(
        "class Broken:\n    type = 'broken'\n    def check(self):\n        return {}['no']\n"
    )
    info = tmp_path / "outside-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[steelyard.sandboxes]\nbroken = outside:Broken\n")
    program = [sys.executable, "-c", "from steelyard.cli.main import main; main(['doctor'])"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "STEELYARD_HOME": str(tmp_path / "home")}

    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60, env=env)

    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("steelyard: a mistake in the program: KeyError: 'no' (")
    assert "outside.py:4)" in done.stderr


def test_what_a_part_prints_is_no_answer(tmp_path: Path) -> None:
    """With --json stdout holds the document alone, whatever an installed part prints while it works."""
    (tmp_path / "outside.py").write_text(
        "class Talkative:\n    type = 'talkative'\n    isolates = True\n    def check(self):\n        print('hello')\n"
    )
    info = tmp_path / "outside-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[steelyard.sandboxes]\ntalkative = outside:Talkative\n")
    program = [sys.executable, "-c", "from steelyard.cli.main import main; main(['doctor', '--json'])"]
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path, "STEELYARD_HOME": str(tmp_path / "home")}

    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60, env=env)

    assert "talkative" in {finding["name"] for finding in json.loads(done.stdout)["findings"]}
    assert done.stderr == "hello\n"


def test_names_that_are_not_text_are_shown_as_escapes() -> None:
    """A file name with bytes that are not UTF-8 does not break the message about it."""
    command = [
        sys.executable,
        "-c",
        "from steelyard.cli.main import main; main()",
        "validate",
        os.fsdecode(b"/nix/\xff.yaml"),
    ]

    done = subprocess.run(command, capture_output=True, timeout=60, check=False)

    assert done.returncode == 2
    assert b"there is no such file" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_json_is_utf_8_whatever_the_locale(encoding: str) -> None:
    """A program that reads the document must not meet escapes that JSON does not know."""
    command = [sys.executable, "-c", "from steelyard.cli.main import main; main()", "score", "-"]
    run = json.dumps({"run_id": "r\u00e9\u20ac", "outcome": "COMPLETED"})
    env = {**os.environ, "PYTHONIOENCODING": encoding}

    done = subprocess.run(command, input=run.encode(), capture_output=True, timeout=60, check=False, env=env)

    assert done.returncode == 0
    assert json.loads(done.stdout)["run_id"] == "r\u00e9\u20ac"
