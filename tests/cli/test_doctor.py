"""steelyard doctor: what works here, and how to get what doesn't."""

import json
import shutil
from pathlib import Path

from steelyard.worktree.scratch import LOCK, PREFIX
from tests.e2e.conftest import Shop


def test_what_is_missing_comes_with_how_to_get_it(tmp_path: Path) -> None:
    """On a machine with git alone every missing agent names its install command, and runs are still possible."""
    git = shutil.which("git")
    assert git is not None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(git)
    shop = Shop(tmp_path)

    done = shop.steelyard("doctor", "--json", PATH=str(tmp_path / "bin"))

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ready"] is True
    agents = {one["name"]: one for one in found["findings"] if one["area"] == "agents"}
    for name in ("claude-code", "codex", "opencode", "mini-swe-agent"):
        assert agents[name]["ok"] is False
        assert "is not on the PATH; install it with `" in agents[name]["detail"]
    assert agents["scripted"]["ok"] is True


def test_trees_of_killed_runs_are_cleaned_away(tmp_path: Path) -> None:
    """A scratch place whose harness is gone counts among what was cleaned."""
    left = tmp_path / "scratch" / f"{PREFIX}left"
    (left / "tree").mkdir(parents=True)
    (left / LOCK).touch()

    done = Shop(tmp_path).steelyard("doctor", "--clean", "--json", STEELYARD_SCRATCH=str(tmp_path / "scratch"))

    assert json.loads(done.stdout)["cleaned"] >= 1
    assert not left.exists()


def test_a_home_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    """Runs are not possible there, whatever else works: a file takes no directory from anybody."""
    (tmp_path / "file").touch()
    done = Shop(tmp_path).steelyard("doctor", "--json", STEELYARD_HOME=str(tmp_path / "file" / "home"))

    (store,) = [one for one in json.loads(done.stdout)["findings"] if one["name"] == "store"]
    assert (done.returncode, store["ok"]) == (3, False)
    assert "/file can't be written to; STEELYARD_HOME names another place" in store["detail"]
