"""A directory that an agent could write to is removed, whatever it became."""

import os
from pathlib import Path

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
