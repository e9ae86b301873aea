"""Places for trees: gone with their harness, and never taken from one that still works."""

import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.worktree.scratch import LOCK, PREFIX, scratch_in, sweep

HARNESS = """
import sys, time
from pathlib import Path
from steelyard.worktree.scratch import scratch_in
with scratch_in(Path(sys.argv[1])) as place:
    (place / "tree").mkdir()
    (place / "tree" / "file").write_text("x")
    print(place, flush=True)
    time.sleep(600)
"""


def test_a_place_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    """Nobody else may enter it, and nothing stays, whatever happened inside."""

    def broken() -> None:
        with scratch_in(tmp_path) as place:
            (place / "tree").mkdir(mode=0)
            assert place.stat().st_mode & 0o777 == 0o700
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_harness_left_is_swept(tmp_path: Path) -> None:
    """While it runs its place stays; once it is killed the next sweep removes it, whole."""
    harness = subprocess.Popen([sys.executable, "-c", HARNESS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert harness.stdout is not None
    place = Path(harness.stdout.readline().strip())
    try:
        assert sweep(tmp_path) == 0
        assert (place / "tree" / "file").read_text() == "x"
    finally:
        harness.kill()
        harness.communicate()

    assert sweep(tmp_path) == 1
    assert not place.exists()


def test_only_places_of_ours_are_swept(tmp_path: Path) -> None:
    """A directory of that name that somebody made, and one whose lock is a link elsewhere, are left alone."""
    (tmp_path / f"{PREFIX}notes").mkdir()
    (tmp_path / f"{PREFIX}notes" / "mine").write_text("x")
    (tmp_path / "precious").write_text("x")
    (tmp_path / f"{PREFIX}linked").mkdir()
    (tmp_path / f"{PREFIX}linked" / LOCK).symlink_to(tmp_path / "precious")

    with scratch_in(tmp_path) as place:
        assert sweep(tmp_path) == 0
        assert place.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", f"{PREFIX}linked", f"{PREFIX}notes"]
