"""What of an overlay may go into a repository."""

import os
from pathlib import Path

import pytest

from steelyard.errors import InputError
from steelyard.promote.overlay import read_overlay
from steelyard.promote.repo import GitError, NewFile, refuse_outside


def test_files_links_and_modes_are_kept(tmp_path: Path) -> None:
    """Content, the executable bit, and a link that stays inside; below the directory that was asked for."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/run.sh").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "a/run.sh").chmod(0o755)
    (tmp_path / "b.bin").write_bytes(b"\0\xff")
    (tmp_path / "link").symlink_to("a/run.sh")

    assert read_overlay(tmp_path, "x") == [
        NewFile("x/a/run.sh", "100755", b"#!/bin/sh\n"),
        NewFile("x/b.bin", "100644", b"\0\xff"),
        NewFile("x/link", "120000", b"a/run.sh"),
    ]


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "a/../../../x", ".git/config", "../.GIT/hooks"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, target: str) -> None:
    """Outside the repository, or into git's own directory."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/link").symlink_to(target)

    with pytest.raises(InputError, match="leads out"):
        read_overlay(tmp_path, "")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A fifo is never opened."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(InputError, match="which is no file"):
        read_overlay(tmp_path, "")


def test_an_overlay_that_is_gone_is_said(tmp_path: Path) -> None:
    """One line with its place."""
    with pytest.raises(InputError, match="is no directory"):
        read_overlay(tmp_path / "gone", "")


@pytest.mark.parametrize(
    "path", ["/etc/x", "../x", "a/../../x", ".git/config", "a/.GIT/x", "", "link/x", "file/x", "dir"]
)
def test_paths_that_would_lead_out_are_refused(path: str) -> None:
    """Also a way through what is no directory in the base, and a directory that would be replaced."""
    kinds = {"link": b"link", "file": b"blob", "dir": b"tree", "dir/x": b"blob"}

    with pytest.raises(GitError):
        refuse_outside(path, kinds)


@pytest.mark.parametrize("path", ["new", "dir/x", "dir/new/deep", "link", "file"])
def test_paths_inside_are_fine(path: str) -> None:
    """New files, and files in place of files or links."""
    refuse_outside(path, {"link": b"link", "file": b"blob", "dir": b"tree", "dir/x": b"blob"})
