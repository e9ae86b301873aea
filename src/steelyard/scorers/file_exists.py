"""file_exists: a file must be there after the run."""

import os
import stat
from pathlib import Path
from typing import Literal

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade, failed, passed
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.paths import RelativePath


class FileExists(Scorer):
    """FAIL when no regular file is at `path` in the tree as it was captured after the run.

    A directory, a symlink that leads nowhere and one that leads out of the tree are no file. A symlink to a file in
    the tree is one, as it is to whoever opens it.
    """

    type: Literal["file_exists"] = "file_exists"
    path: RelativePath

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Ask the captured tree, which can't change any more; ignored files and links are looked up in the sandbox."""
        if evidence.after(self.path) is not None:
            return passed(f"{self.path} is there")
        found = None if sandbox is None else _kind(sandbox.collect_tree(), self.path)
        if found == "file":
            return passed(f"{self.path} is there")
        return failed(f"{self.path} is missing" if found is None else f"{self.path} is {found}, not a file in the tree")


def _kind(tree: Path, path: str) -> str | None:
    """What is at a path: a file, something that is none, or nothing. Only names and kinds are looked at."""
    root = os.path.realpath(tree)
    place = os.path.realpath(os.path.join(root, path))  # noqa: PTH118  # a name that pathlib would tidy up stays itself
    try:
        mode = os.stat(place).st_mode  # noqa: PTH116  # one call, no Path for it
    except (OSError, ValueError):
        return "a symlink that leads nowhere" if os.path.islink(os.path.join(root, path)) else None  # noqa: PTH114, PTH118
    if not place.startswith(root + os.sep):
        return "a symlink that leads out"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "file" if stat.S_ISREG(mode) else "a special file"
