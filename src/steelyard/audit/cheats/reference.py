"""reference: the suite's own solution, which must pass."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.scene import NotApplicable, Scene
from steelyard.errors import InputError
from steelyard.worktree.git import GitError, git, sealed_env


class ReferenceSolution(Cheat):
    """Does what the task's `reference` says: applies its patch, or lays its directory over the tree.

    It is no cheat: where it does not pass, the task can't be solved as it is graded.
    """

    type: Literal["reference"] = "reference"
    patch: str | None = None
    directory: str | None = None

    advice = "make the reference pass, or correct the check that fails"

    def act(self, scene: Scene) -> str:
        """Bring the solution into the sandbox, file by file."""
        if self.patch is None and self.directory is None:
            raise NotApplicable("the task names no reference solution")
        tree = scene.sandbox.collect_tree()
        with tempfile.TemporaryDirectory(prefix="steelyard-reference-") as folder:
            after = Path(folder) / "tree"
            if self.patch is not None:
                shutil.copytree(tree, after, symlinks=True, ignore=shutil.ignore_patterns(".git"))
                _apply(Path(self.patch), after)
                gone = [path for path in scene.files if not os.path.lexists(after / path)]
            else:
                after, gone = Path(str(self.directory)), []
            count = _carry(after, tree, scene)
        if gone:
            scene.delete(gone)
        return f"The reference: {count + len(gone)} files."


def _apply(patch: Path, tree: Path) -> None:
    try:
        data = patch.read_bytes()
        env = sealed_env() | {"GIT_CEILING_DIRECTORIES": str(tree.parent)}
        git("apply", "--whitespace=nowarn", "-", cwd=tree, env=env, stdin=data)
    except OSError as error:
        raise InputError(f"the reference {patch} can't be read: {error.strerror}") from error
    except (GitError, subprocess.TimeoutExpired) as error:
        raise InputError(f"the reference {patch} does not apply to the tree: {error}; make it anew") from error


def _carry(after: Path, tree: Path, scene: Scene) -> int:
    """Write every file that differs, with its mode; links are left alone."""
    count = 0
    for folder, _, names in os.walk(after):
        for name in sorted(names):
            source = Path(folder) / name
            path = source.relative_to(after)
            if source.is_symlink() or not source.is_file() or ".git" in path.parts:
                continue
            data, there = source.read_bytes(), tree / path
            runs = bool(source.stat().st_mode & stat.S_IXUSR)
            if there.is_file() and not there.is_symlink() and there.read_bytes() == data:
                continue
            scene.sandbox.write(str(path), data)
            if runs:
                scene.exec(("chmod", "+x", "--", str(path)), "chmod")
            count += 1
    return count
