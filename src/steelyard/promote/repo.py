"""The user's repository, written to without touching its working tree: objects, one branch, one push.

A commit is built in an index of our own. No hook of the repository runs, its checkout and its branches stay as they
are, and only when the push has succeeded does the new branch appear locally.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.errors import InputError
from steelyard.worktree.git import user_env
from steelyard.worktree.seed import as_one_path

TIMEOUT_S = 300
_NO_HOOKS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "gc.auto=0"),
    *("-c", "push.followTags=false"),
    *("-c", "submodule.recurse=false"),
)


class GitError(Exception):
    """Git said no; `str` is what it said, in one line."""


@dataclass(frozen=True)
class NewFile:
    """A file for the branch: its path in the repository, git's mode, its content (a link's target)."""

    path: str
    mode: str
    data: bytes


@dataclass(frozen=True)
class Remote:
    """What the remote says: its default branch and the tip of every branch."""

    default: str | None
    branches: dict[str, str]


class Repo:
    """A checkout, by its top directory; with `scratch`, a place of ours, not even an object is written to it."""

    def __init__(self, place: Path, scratch: Path | None = None) -> None:
        self._env: dict[str, str] = {}
        if not place.is_dir():
            raise InputError(f"--repo {place}: no such directory")
        try:
            top = self._git("-C", str(place), "rev-parse", "--show-toplevel").decode().rstrip("\n")
        except GitError as error:
            raise InputError(f"{place}: no git checkout ({error}); name one with --repo DIR") from None
        self.top = Path(top)
        if scratch is not None:
            objects = (self.top / self.git("rev-parse", "--git-path", "objects").decode().rstrip("\n")).resolve()
            own = scratch / "objects"
            own.mkdir()
            self._env = {"GIT_OBJECT_DIRECTORY": str(own), "GIT_ALTERNATE_OBJECT_DIRECTORIES": as_one_path(objects)}

    def git(self, *words: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        """Run git in the repository; `index` is used in place of the user's."""
        return self._git("-C", str(self.top), *words, stdin=stdin, index=index)

    def _git(self, *words: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        env = user_env() | self._env | ({"GIT_INDEX_FILE": str(index)} if index else {})
        try:
            done = subprocess.run(
                ["git", "--no-pager", *_NO_HOOKS, *words],
                env=env,
                input=stdin,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except FileNotFoundError:
            raise InputError("git is not installed; install git 2.30 or newer and run again") from None
        except subprocess.TimeoutExpired:
            raise GitError(f"git {words[2] if len(words) > 2 else ''} did not end within {TIMEOUT_S} s") from None
        if done.returncode != 0:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())
            raise GitError(said[-500:] or f"git ended with {done.returncode}")
        return done.stdout

    def setting(self, name: str) -> str | None:
        """A value of git's configuration."""
        try:
            return self.git("config", "--get", name).decode("utf-8", "replace").strip() or None
        except GitError:
            return None

    def dirty(self, leave_out: Path) -> list[str]:
        """What is changed or not committed, without our own store."""
        found = []
        for row in self.git("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames").split(b"\0"):
            path = os.fsdecode(row[3:])
            if path and not (self.top / path).is_relative_to(leave_out) and ".steelyard" not in path.split("/"):
                found.append(path)
        return found

    def remotes(self) -> list[str]:
        """The names of the remotes."""
        return self.git("remote").decode("utf-8", "replace").split()

    def ask(self, remote: str) -> Remote:
        """The remote's default branch and branches; `GitError` when it can't be reached."""
        default, branches = None, {}
        for row in self.git("ls-remote", "--symref", "--", remote).decode("utf-8", "replace").splitlines():
            left, _, name = row.partition("\t")
            if name == "HEAD" and left.startswith("ref: refs/heads/"):
                default = left.removeprefix("ref: refs/heads/")
            elif name.startswith("refs/heads/"):
                branches[name.removeprefix("refs/heads/")] = left
        return Remote(default, branches)

    def is_branch_name(self, name: str) -> bool:
        """Whether git takes it for a branch's name."""
        try:
            self.git("check-ref-format", f"refs/heads/{name}")
        except GitError:
            return False
        return not name.startswith("-")

    def commit_id(self, name: str) -> str | None:
        """The commit that a full ref or an id names; None when it is not here."""
        try:
            return self.git("rev-parse", "--verify", "-q", "--end-of-options", f"{name}^{{commit}}").decode().strip()
        except GitError:
            return None

    def fetch(self, remote: str, branch: str) -> None:
        """Get the objects of a remote's branch; no ref of the user's is moved."""
        spec = f"refs/heads/{branch}"
        self.git("fetch", "-q", "--no-tags", "--no-write-fetch-head", "--refmap=", "--", remote, spec)

    def tree_with(self, base: str, files: Sequence[NewFile]) -> str:
        """The tree of a commit with files put into it."""
        with self._own_index(base) as index:
            rows, kinds = [], self._kinds(base)
            for file in files:
                refuse_outside(file.path, kinds)
                blob = self.git("hash-object", "-w", "--stdin", "--no-filters", stdin=file.data).decode().strip()
                rows.append(f"{file.mode} {blob}\t".encode() + os.fsencode(file.path) + b"\0")
            self.git("update-index", "-z", "--index-info", stdin=b"".join(rows), index=index.path)
            return self.git("write-tree", index=index.path).decode().strip()

    def tree_patched(self, base: str, patch: bytes, into: str) -> str:
        """The tree of a commit with a patch applied below a directory; exact, or `GitError`."""
        with self._own_index(base) as index:
            where = [f"--directory={into}"] if into else []
            # --cached looks at the index alone: no file of the working tree is read, written or followed.
            self.git("apply", "--cached", "--whitespace=nowarn", *where, "-", stdin=patch, index=index.path)
            return self.git("write-tree", index=index.path).decode().strip()

    def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        return self.git("rev-parse", f"{commit}^{{tree}}").decode().strip()

    def changed(self, base: str, tree: str) -> list[tuple[str, str]]:
        """What a tree changes: (A, M, D or T, path)."""
        rows = self.git("diff-tree", "-r", "-z", "--no-renames", "--name-status", base, tree).split(b"\0")[:-1]
        return [(rows[i].decode(), os.fsdecode(rows[i + 1])) for i in range(0, len(rows), 2)]

    def commit(self, tree: str, base: str, message: str) -> str:
        """A commit object with the user's own identity; nothing refers to it yet."""
        return self.git("commit-tree", tree, "-p", base, "-F", "-", stdin=message.encode()).decode().strip()

    def push(self, remote: str, commit: str, branch: str) -> None:
        """Push a commit as a new branch of the remote: refused when the branch is there."""
        lease = f"--force-with-lease=refs/heads/{branch}:"  # an empty expectation: it must not exist
        words = ("--no-verify", "--no-recurse-submodules", lease, "--", remote, f"{commit}:refs/heads/{branch}")
        self.git("push", "-q", *words)

    def make_branch(self, branch: str, commit: str) -> None:
        """A new local branch; refused when there is one of that name."""
        self.git("update-ref", f"refs/heads/{branch}", commit, "0" * len(commit))

    def _kinds(self, base: str) -> dict[str, bytes]:
        """What stands at every path of a commit: blob, tree or commit; a symlink is told apart as `link`."""
        found = {}
        for row in self.git("ls-tree", "-r", "-t", "-z", "--full-tree", base).split(b"\0")[:-1]:
            about, _, name = row.partition(b"\t")
            mode, kind, _ = about.split(b" ", 2)
            found[os.fsdecode(name)] = b"link" if mode == b"120000" else kind
        return found

    def _own_index(self, base: str) -> "_Index":
        return _Index(self, base)


class _Index:
    """An index file of our own, filled with a commit's tree, gone afterwards."""

    def __init__(self, repo: Repo, base: str) -> None:
        self._repo, self._base = repo, base
        self._folder = tempfile.TemporaryDirectory(prefix="steelyard-")
        self.path = Path(self._folder.name, "index")

    def __enter__(self) -> "_Index":
        try:
            self._repo.git("read-tree", self._base, index=self.path)
        except BaseException:
            self._folder.cleanup()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._folder.cleanup()


def refuse_outside(path: str, kinds: Mapping[str, bytes]) -> None:
    """No `..`, no `.git`, no way through what is no directory in the base commit, and no directory replaced."""
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or not parts or any(part.lower() == ".git" for part in parts):
        raise GitError(f"{path!r} is not a path inside the repository")
    for count in range(1, len(parts)):
        above = "/".join(parts[:count])
        if kinds.get(above, b"tree") != b"tree":
            raise GitError(f"{above!r} is no directory in the repository: {path!r} would lead out of it or replace it")
    if kinds.get(path) in (b"tree", b"commit"):
        raise GitError(f"{path!r} is a directory in the repository, which no file replaces")
