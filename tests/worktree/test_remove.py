"""A directory that an agent could write to is removed, whatever it became."""

import os
import subprocess
from pathlib import Path

import pytest

from steelyard.worktree.remove import remove_tree


def test_depth_rights_and_links_do_not_stop_it(tmp_path: Path) -> None:
    """Nested beyond any path, without rights, with links out: it is gone, and nothing else is."""
    tree = tmp_path / "tree"
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/kept").write_text("x")
    (tree / "closed/inner").mkdir(parents=True)
    (tree / "closed/inner/f").write_text("x")
    (tree / "link").symlink_to(tmp_path / "outside")
    held = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=held)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=held)
        os.close(held)
        held = below
    os.close(held)
    (tree / "closed/inner").chmod(0)
    (tree / "closed").chmod(0)

    remove_tree(tree)

    assert not tree.exists()
    assert (tmp_path / "outside/kept").exists()


def test_a_link_or_nothing_in_its_place_is_fine(tmp_path: Path) -> None:
    """A link is removed and not followed; what is not there is no error."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "tree").symlink_to(tmp_path / "outside")

    remove_tree(tmp_path / "tree")
    remove_tree(tmp_path / "tree")

    assert (tmp_path / "outside").is_dir()


def test_files_that_may_not_be_changed_go_too(tmp_path: Path) -> None:
    """`chattr +i` on a file, and `+a` on a directory: what is in them, beside them and below them is gone."""
    (tmp_path / "tree/held/inner").mkdir(parents=True)
    for name in ("a", "held/b", "held/inner/c", "z"):
        (tmp_path / "tree" / name).write_text("x")
    for flag, name in (("+i", "a"), ("+i", "held/inner/c"), ("+a", "held")):
        if subprocess.run(["chattr", flag, tmp_path / "tree" / name], check=False, capture_output=True).returncode:
            remove_tree(tmp_path / "tree")
            pytest.skip("this account or file system has no such flags")

    remove_tree(tmp_path / "tree")

    assert not (tmp_path / "tree").exists()
