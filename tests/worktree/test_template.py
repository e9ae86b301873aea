"""Templates are planted once, copied often, and planted again when somebody touched them."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.domain.suite import Seed
from steelyard.errors import InfraError, InputError
from steelyard.worktree.diff import capture
from steelyard.worktree.template import Template, Templates

Git = Callable[..., str]


def test_a_copy_is_the_whole_tree_and_a_working_repository(tree: Path, git: Git) -> None:
    """Content, modes and one commit."""
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "rev-list", "--all", "--count") == "1\n"
    assert (tree / "run.sh").stat().st_mode & 0o777 == 0o755


def test_no_file_is_shared_with_the_template(template: Template, tree: Path) -> None:
    """Editing a copy in place, its objects included, never reaches the template."""
    for file in [place for place in tree.rglob("*") if place.is_file()]:
        assert file.stat().st_nlink == 1
        assert not file.samefile(template.tree / file.relative_to(tree))


def test_the_directory_is_closed_to_others(template: Template) -> None:
    """Only the harness may enter."""
    assert template.tree.parent.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("trick", ["edit", "replace", "delete", "link"])
def test_a_touched_template_is_planted_again(template: Template, tmp_path: Path, trick: str) -> None:
    """An edit with its time set back, a swapped, deleted or linked file: the next run starts clean all the same."""
    victim = template.tree / "src/calc.py"
    before = victim.stat()
    text = victim.read_text()
    if trick == "edit":
        victim.write_text(text.replace("a - b", "a * b"))
        os.utime(victim, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif trick == "replace":
        victim.rename(tmp_path / "old")
        victim.write_text(text.replace("a - b", "a * b"))
    elif trick == "delete":
        victim.unlink()
    else:
        (template.tree / "src").rename(tmp_path / "src")
        (tmp_path / "src/calc.py").write_text("evil\n")
        (template.tree / "src").symlink_to(tmp_path / "src")

    template.copy_to(tmp_path / "next")

    assert (tmp_path / "next/src/calc.py").read_text() == text
    assert capture(tmp_path / "next", template.baseline, tmp_path / "keep").diff.files == ()


def test_a_seed_that_changed_meanwhile_is_not_mixed_in(
    template: Template, seed_directory: Path, tmp_path: Path
) -> None:
    """When the template must be planted again from a seed that is another by now, the run fails, and not its arm."""
    (template.tree / "src/calc.py").unlink()
    (seed_directory / "src/calc.py").write_text("other\n")

    with pytest.raises(InfraError, match="the seed changed"):
        template.copy_to(tmp_path / "next")


def test_a_baseline_read_from_a_touched_template_is_an_error(template: Template) -> None:
    """What `before` would return no longer has its hash."""
    (template.tree / "src/calc.py").write_text("evil\n")

    with pytest.raises(InfraError, match="changed afterwards"):
        template.baseline.read("src/calc.py")


def test_threads_share_one_template(tmp_path: Path, seed_directory: Path) -> None:
    """Eight threads that ask at once get the same template, and their copies are all whole."""
    templates = Templates(tmp_path / "shared")
    got: list[Template] = []

    def work(number: int) -> None:
        template = templates.get(Seed(directory="seed"), seed_directory.parent, None)
        template.copy_to(tmp_path / f"copy-{number}")
        got.append(template)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({id(template) for template in got}) == 1
    assert len(got) == 8
    for number in range(8):
        assert capture(tmp_path / f"copy-{number}", got[0].baseline, tmp_path / f"keep-{number}").diff.files == ()


def test_another_overlay_is_another_template(tmp_path: Path, seed_directory: Path) -> None:
    """The arm's overlay is part of what is planted."""
    (seed_directory.parent / "overlay").mkdir()
    (seed_directory.parent / "overlay/CLAUDE.md").write_text("x\n")
    templates = Templates(tmp_path / "shared")

    plain = templates.get(Seed(directory="seed"), seed_directory.parent, None)
    other = templates.get(Seed(directory="seed"), seed_directory.parent, Path("overlay"))

    assert "CLAUDE.md" not in plain.baseline.entries
    assert "CLAUDE.md" in other.baseline.entries


def test_a_seed_that_is_wrong_is_tried_once_and_leaves_nothing(tmp_path: Path) -> None:
    """The second cell hears the same at once, even when the file was mended meanwhile; the room is given back."""
    (tmp_path / "seed.tar").write_bytes(b"no archive")
    templates = Templates(tmp_path / "templates")
    for _ in range(2):
        with pytest.raises(InputError, match="cannot be unpacked"):
            templates.get(Seed(archive="seed.tar"), tmp_path, None)
        (tmp_path / "seed.tar").unlink(missing_ok=True)

    assert list((tmp_path / "templates").iterdir()) == []
