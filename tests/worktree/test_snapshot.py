"""A baseline after setup commands holds what they made, and nothing twice."""

from pathlib import Path

from steelyard.worktree.diff import capture
from steelyard.worktree.snapshot import take_baseline
from steelyard.worktree.template import Template


def test_what_setup_made_belongs_to_the_baseline(template: Template, tree: Path, tmp_path: Path) -> None:
    """Also ignored files: an agent that edits an installed package changes the tree."""
    (tree / "build").mkdir()
    (tree / "build/lib.js").write_text("module.exports = 1\n")
    (tree / "generated.py").write_text("x = 1\n")
    baseline = take_baseline(tree, tmp_path / "base", over=template.baseline)

    assert capture(tree, baseline, tmp_path / "keep").diff.files == ()
    (tree / "build/lib.js").write_text("module.exports = 2\n")
    (tree / "build/new.o").write_text("noise\n")

    change = capture(tree, baseline, tmp_path / "keep-2")
    assert change.diff.changed_files == ("build/lib.js",)
    assert change.before("build/lib.js") == b"module.exports = 1\n"
    assert change.before("src/calc.py") == (template.tree / "src/calc.py").read_bytes()


def test_caches_that_setup_left_are_no_part_of_it(template: Template, tree: Path, tmp_path: Path) -> None:
    """Bytecode that is written anew by every test run is not the agent's change."""
    cache = tree / "src/__pycache__/calc.cpython-311.pyc"
    cache.parent.mkdir()
    cache.write_bytes(b"one")
    baseline = take_baseline(tree, tmp_path / "base", over=template.baseline)
    cache.write_bytes(b"two")

    assert capture(tree, baseline, tmp_path / "keep").diff.files == ()


def test_rules_that_setup_changed_are_the_ones_that_count(template: Template, tree: Path, tmp_path: Path) -> None:
    """The baseline's ignore rules are those of the tree that the agent is given."""
    (tree / ".gitignore").write_text("*.tmp\n")
    baseline = take_baseline(tree, tmp_path / "base", over=template.baseline)
    (tree / "a.tmp").write_text("x")
    (tree / "a.log").write_text("x")

    assert capture(tree, baseline, tmp_path / "keep").diff.changed_files == ("a.log",)


def test_a_baseline_alone_keeps_every_content(tree: Path, tmp_path: Path) -> None:
    """Without a template under it, the baseline can be read after the tree is gone."""
    baseline = take_baseline(tree, tmp_path / "base")
    wanted = (tree / "src/calc.py").read_bytes()
    tree.rename(tmp_path / "gone")

    assert baseline.read("src/calc.py") == wanted
    assert baseline.read("missing") is None


def test_a_large_file_of_the_baseline_is_compared_by_content(tree: Path, tmp_path: Path) -> None:
    """An edit of one byte in a file too large for memory, of the same size, is a change; none is none."""
    with (tree / "data.bin").open("wb") as out:
        out.truncate(33 * 1024 * 1024)
    baseline = take_baseline(tree, tmp_path / "base")
    assert capture(tree, baseline, tmp_path / "keep-1").diff.files == ()
    with (tree / "data.bin").open("r+b") as out:
        out.seek(20_000_000)
        out.write(b"x")

    change = capture(tree, baseline, tmp_path / "keep-2")

    assert [(file.path, file.kind, file.binary) for file in change.diff.files] == [("data.bin", "modified", True)]
    after = change.after("data.bin")
    assert after is not None
    assert after[20_000_000:20_000_001] == b"x"
