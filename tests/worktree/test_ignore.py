"""Our ignore rules agree with git's."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from steelyard.worktree.ignore import IgnoreRules

PIECES = ["a", "b", "ab", "*", "**", "?", "/", "[ab]", "[!a]", "[a-c]", "\\*", ".", "x.py", "!", " ", "#", "[", "\\ "]
LINES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
RULES = st.lists(LINES, min_size=1, max_size=4).map(lambda lines: "\n".join(lines) + "\n")
NAMES = st.sampled_from(["a", "b", "ab", "abc", "x.py", "c", "*", "a b", "b ", "!", "#"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module")
def repository() -> Iterator[Path]:
    """A repository whose only files will be `.gitignore`s."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["git", "init", "-q", "--template=", place], check=True, env=_env())
        yield Path(place)


def _env() -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "HOME": "/nonexistent",
    }


def git_ignores(repository: Path, paths: list[str]) -> set[str]:
    """The paths that git itself ignores, none of which has to exist."""
    asked = "\0".join(paths).encode() + b"\0"
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    done = subprocess.run(command, cwd=repository, env=_env(), input=asked, capture_output=True)
    assert done.returncode in (0, 1), done.stderr
    return {path.decode() for path in done.stdout.split(b"\0") if path}


@settings(
    max_examples=100, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(RULES, RULES, st.lists(PATHS, min_size=1, max_size=20, unique=True))
def test_rules_mean_what_git_says(repository: Path, top: str, below: str, paths: list[str]) -> None:
    """For any rules at the top and in a directory, and any paths, git and Steelyard ignore the same."""
    (repository / "a").mkdir(exist_ok=True)
    (repository / ".gitignore").write_text(top)
    (repository / "a/.gitignore").write_text(below)
    paths = [path for path in paths if path != "a"]  # the one that is a directory
    assume(paths)
    rules = IgnoreRules({"": top.encode(), "a/": below.encode()})

    assert {path for path in paths if rules.ignores(path)} == git_ignores(repository, paths)


@pytest.mark.parametrize(
    ("rule", "path", "ignored"),
    [
        ("node_modules/", "web/node_modules/x/index.js", True),
        ("/build", "build/a.o", True),
        ("/build", "src/build/a.o", False),
        ("*.py[cod]", "a/b.pyc", True),
        ("[[:digit:]]*.txt", "1a.txt", True),
        ("docs/**/*.html", "docs/a.html", True),
        ("docs/**/*.html", "docs/x/y/a.html", True),
        ("docs/*.html", "docs/x/a.html", False),
        ("\ufeff*.log", "a.log", True),
        ("*.log\r", "a.log", True),
        ("*\n!*.py", "a.py", False),
        ("vendor/\n!vendor/keep.py", "vendor/keep.py", True),
        ("ends\\", "ends\\", False),
    ],
)
def test_rules_people_write(rule: str, path: str, ignored: bool) -> None:
    """The common forms, and the rule that nothing below an ignored directory comes back."""
    assert IgnoreRules({"": rule.encode()}).ignores(path) is ignored


def test_the_built_in_rules_can_be_taken_back() -> None:
    """Bytecode is ignored without a rule, unless the baseline says otherwise."""
    path = "src/__pycache__/a.cpython-311.pyc"
    assert IgnoreRules({}).ignores(path)
    assert not IgnoreRules({"": b"!*.pyc\n"}).ignores(path)


def test_names_that_are_not_utf8_match_by_bytes() -> None:
    """One `?` is one byte, as in git."""
    assert IgnoreRules({"": b"caf?\n"}).ignores(os.fsdecode(b"caf\xe9"))
    assert not IgnoreRules({"": b"caf?\n"}).ignores("café")


def test_many_rule_files_count_by_their_place() -> None:
    """The nearest file decides, however many there are."""
    files = {f"d{n}/": b"!*.log\n" for n in range(40)} | {"": b"*.log\n", "d1/deep/": b"*.log\n"}
    rules = IgnoreRules(files)

    assert rules.ignores("x.log")
    assert not rules.ignores("d1/x.log")
    assert rules.ignores("d1/deep/er/x.log")
