"""What was captured can be made again, from the capture or from its patch alone."""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import AgentError, InputError
from steelyard.worktree.diff import CapturedChange, capture
from steelyard.worktree.restore import apply_patch, put_back, rebuild
from steelyard.worktree.snapshot import take_baseline
from steelyard.worktree.template import Template

Capture = Callable[[], CapturedChange]

NAMES = st.sampled_from(["a.py", "b", "d/c.py", "d/e/f", "n\nl", "sp ace", os.fsdecode(b"\xe9"), "d", "q\"'\\", "é.py"])
TEXTS = st.lists(
    st.sampled_from([b"one\n", b"two\n", b"\r\n", b"@@ -1 +1 @@\n", b"diff --git a/x b/x\n", b"end"]), max_size=12
)
CONTENTS = st.one_of(TEXTS.map(b"".join), st.binary(max_size=300), st.binary(max_size=60).map(lambda b: b * 40))
KINDS = st.sampled_from(["file", "program", "link"])
TREES = st.dictionaries(NAMES, st.tuples(KINDS, CONTENTS), max_size=7)


def lay_out(root: Path, files: dict[str, tuple[str, bytes]]) -> dict[str, tuple[int, bytes]]:
    """Write files, programs and links; a name in the way of another is left out."""
    root.mkdir(exist_ok=True)
    for name, (kind, data) in files.items():
        place = root / name
        if place.exists() or place.is_symlink() or any((root / p).is_file() for p in Path(name).parents):
            continue
        if any(parent.is_symlink() for parent in place.parents):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            place.symlink_to(os.fsdecode(data.replace(b"\0", b"0")[:200] or b"x"))
            continue
        place.write_bytes(data)
        place.chmod(0o755 if kind == "program" else 0o644)
    return contents(root)


def contents(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of a tree with its mode and bytes, its `.git` left out."""
    found = {}
    for place in root.rglob("*"):
        path = str(place.relative_to(root))
        mode = place.lstat().st_mode
        if path == ".git" or path.startswith(".git/") or stat.S_ISDIR(mode):
            continue
        data = os.fsencode(place.readlink()) if stat.S_ISLNK(mode) else place.read_bytes()
        found[path] = (stat.S_IFMT(mode) | (mode & 0o100 if stat.S_ISREG(mode) else 0), data)
    return found


@settings(max_examples=60, derandomize=True, deadline=None)
@given(TREES, TREES)
def test_the_patch_and_the_capture_make_the_same_tree(
    before: dict[str, tuple[str, bytes]], after: dict[str, tuple[str, bytes]]
) -> None:
    """For any two trees: baseline plus patch is the second tree, byte for byte, and so is the rebuilt capture."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        lay_out(work / "before", before)
        wanted = lay_out(work / "after", after)
        baseline = take_baseline(work / "before", work / "keep-before")
        change = capture(work / "after", baseline, work / "keep-after")

        apply_patch(work / "before", change.diff.patch, work / "patched")
        rebuild(baseline, change, work / "rebuilt")

        assert contents(work / "patched") == wanted
        assert contents(work / "rebuilt") == wanted


def test_a_patch_for_another_content_is_refused(
    template: Template, tree: Path, captured: Capture, tmp_path: Path
) -> None:
    """Nothing is applied on a guess: a line that is not as expected stops it."""
    (tree / "src/calc.py").write_text("changed\n")
    patch = captured().diff.patch
    (tree / "src/calc.py").write_text("something else\n")

    with pytest.raises(InputError, match=r"does not fit 'src/calc.py'"):
        apply_patch(tree, patch, tmp_path / "out")


def test_a_patch_that_was_altered_is_refused(template: Template, tree: Path, captured: Capture, tmp_path: Path) -> None:
    """The result must have the hash that the patch promises."""
    (tree / "src/calc.py").write_text("changed\n")
    patch = captured().diff.patch.replace(b"+changed", b"+CHANGED")

    with pytest.raises(InputError, match="another hash"):
        apply_patch(template.baseline, patch, tmp_path / "out")


@pytest.mark.parametrize("path", ["../evil", "/evil", ".git/hooks/pre-commit", "a/../../evil", "a//b"])
def test_a_patch_never_writes_outside_the_tree(template: Template, tmp_path: Path, path: str) -> None:
    """Paths that lead out of the tree or into its `.git` are refused."""
    patch = (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n".encode()
    )

    with pytest.raises(InputError, match=r"no path inside a tree|leads into .git"):
        apply_patch(template.baseline, patch, tmp_path / "out" / "tree")
    assert not (tmp_path / "out" / "evil").exists()


def test_a_patch_never_writes_through_a_symlink(template: Template, tmp_path: Path) -> None:
    """A patch that makes a link and a file below it stops at the link."""
    (tmp_path / "outside").mkdir()
    target = str(tmp_path / "outside")
    patch = (
        f"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+{target}\n"
        "\\ No newline at end of file\n"
        "diff --git a/l/x b/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+x\n"
    ).encode()

    with pytest.raises(InputError, match="no directory in the tree"):
        apply_patch(template.baseline, patch, tmp_path / "out")
    assert list((tmp_path / "outside").iterdir()) == []


def test_content_that_the_patch_left_out_is_said(
    template: Template, tree: Path, captured: Capture, tmp_path: Path
) -> None:
    """A file too large for the patch can't be made from it, but from the capture it can."""
    with (tree / "big").open("wb") as out:
        out.truncate(40 * 1024 * 1024)
    change = captured()

    with pytest.raises(InputError, match="leaves out the content of 'big'"):
        apply_patch(template.baseline, change.diff.patch, tmp_path / "patched")
    rebuild(template.baseline, change, tmp_path / "rebuilt")
    assert (tmp_path / "rebuilt/big").stat().st_size == 40 * 1024 * 1024


def test_a_file_too_large_to_rebuild_is_the_agents_fault(
    template: Template, tree: Path, captured: Capture, tmp_path: Path
) -> None:
    """A sparse terabyte is recorded, but no fresh tree is made of it."""
    with (tree / "huge").open("wb") as out:
        out.truncate(2**40)

    with pytest.raises(AgentError, match="too large"):
        rebuild(template.baseline, captured(), tmp_path / "rebuilt")


def test_what_a_command_changed_is_put_back(tree: Path, captured: Capture, tmp_path: Path) -> None:
    """Edited, deleted, replaced and re-moded files are as captured again; what a build made stays."""
    (tree / "src/calc.py").write_text("the agent's\n")
    change = captured()
    (tree / "src/calc.py").write_text("a command's\n")
    (tree / "README.md").unlink()
    (tree / "README.md").mkdir()
    (tree / "README.md/x").write_text("x")
    (tree / "run.sh").chmod(0o644)
    (tree / "tests").rename(tmp_path / "elsewhere")
    (tree / "tests").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/test_calc.py").write_text("assert True\n")
    (tree / "made.txt").write_text("by a build\n")

    assert put_back(tree, change) == ["README.md", "run.sh", "src/calc.py", "tests/test_calc.py"]
    assert (tree / "src/calc.py").read_text() == "the agent's\n"
    assert (tree / "README.md").read_text() == "# calc\n"
    assert (tree / "run.sh").stat().st_mode & 0o100
    assert not (tree / "tests").is_symlink()
    assert "add(1, 2) == 3" in (tree / "tests/test_calc.py").read_text()
    assert (tmp_path / "elsewhere/test_calc.py").read_text() == "assert True\n"
    assert (tree / "made.txt").exists()
    assert put_back(tree, change) == []


def test_a_tree_that_a_command_removed_is_put_back(tree: Path, captured: Capture, tmp_path: Path) -> None:
    """Even the whole tree comes back."""
    change = captured()
    tree.rename(tmp_path / "away")

    assert "src/calc.py" in put_back(tree, change)
    assert (tree / "src/calc.py").exists()
