"""A small seed, a planted tree and the change against it, all on real files with real git."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from steelyard.domain.suite import Seed
from steelyard.worktree.diff import CapturedChange, capture
from steelyard.worktree.patches import Patches
from steelyard.worktree.template import Template, Templates

FILES = {
    "README.md": "# calc\n",
    ".gitignore": "*.log\nbuild/\n",
    "src/calc.py": "def add(a, b):\n    return a - b\n",
    "src/util/text.py": "def shout(s):\n    return s.upper()\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "run.sh": "#!/bin/sh\necho run\n",
}

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Run git as an agent would, in its tree, with no configuration of the machine's user."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "HOME": str(tmp_path),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }

    def run(where: Path, *args: str) -> str:
        done = subprocess.run(["git", *args], cwd=where, env=env, capture_output=True, check=True, timeout=60)
        return done.stdout.decode("utf-8", "surrogateescape")

    return run


def write_files(root: Path, files: dict[str, str]) -> Path:
    """Write text files below a directory."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def seed_directory(tmp_path: Path) -> Path:
    """A directory with a few source files, one of them executable."""
    seed = write_files(tmp_path / "suite" / "seed", FILES)
    (seed / "run.sh").chmod(0o755)
    return seed


@pytest.fixture
def template(tmp_path: Path, seed_directory: Path) -> Template:
    """The planted seed."""
    return Templates(tmp_path / "templates").get(Seed(directory="seed"), seed_directory.parent, None)


@pytest.fixture
def tree(tmp_path: Path, template: Template) -> Path:
    """A run's own copy of the planted seed."""
    place = tmp_path / "run" / "tree"
    template.copy_to(place)
    return place


@pytest.fixture
def captured(tmp_path: Path, template: Template, tree: Path) -> Iterator[Callable[[], CapturedChange]]:
    """Capture the run's tree as it is now, as the engine does; may be called again."""
    count = iter(range(100))
    with closing(Patches(tmp_path / "patches")) as patches:
        yield lambda: capture(tree, template.baseline, tmp_path / f"keep-{next(count)}", patches)
