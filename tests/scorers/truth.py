"""A real tree, its baseline, what an agent made of it, and a real sandbox around it: for scorers that run tests."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import Task
from steelyard.sandboxes.base import Sandbox, SandboxSpec
from steelyard.sandboxes.local import LocalProvider
from steelyard.worktree.diff import capture
from steelyard.worktree.snapshot import take_baseline

# Without the plugins that happen to be installed here, which take long to load.
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider --junitxml={{junit}}"
FILES = {
    "calc.py": "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a + b\n",
    "tests/test_calc.py": (
        "from calc import add, sub\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
        "def test_zero():\n    assert add(0, 0) == 0\n\n\ndef test_sub():\n    assert sub(3, 2) == 1\n"
    ),
    "pytest.ini": "[pytest]\naddopts = -q\n",
}
FIXED = FILES["calc.py"].replace("def sub(a, b):\n    return a + b", "def sub(a, b):\n    return a - b")


@contextmanager
def worked(
    place: Path, change: Mapping[str, str | None], files: Mapping[str, str] = FILES
) -> Iterator[tuple[Evidence, Sandbox, Path]]:
    """The evidence of a change (None deletes), a sandbox around the changed tree, and that tree."""
    tree = place / "tree"
    _write(tree, files)
    baseline = take_baseline(tree, place / "base")
    _write(tree, {path: text for path, text in change.items() if text is not None})
    for path in (path for path, text in change.items() if text is None):
        (tree / path).unlink()
    captured = capture(tree, baseline, place / "keep")
    evidence = Evidence(
        task=Task(id="t", prompt="x"),
        diff=captured.diff,
        before=captured.before,
        after=captured.after,
        baseline_files=captured.baseline_files,
    )
    (place / "scratch").mkdir()
    sandbox = LocalProvider().open(SandboxSpec(run_id="test", tree=tree, scratch=place / "scratch"))
    try:
        yield evidence, sandbox, tree
    finally:
        sandbox.close()


def _write(tree: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text, "utf-8")


def contents(tree: Path) -> dict[str, str]:
    """Every file of a tree that is no cache."""
    found = (path for path in sorted(tree.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(tree).as_posix(): path.read_text("utf-8") for path in found}
