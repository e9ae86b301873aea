"""Makes the tree an agent starts from: an ordinary git repository with one commit and no way back to the answer."""

import os
import re
import stat
import subprocess
import tempfile
from pathlib import Path

from steelyard.domain.suite import Seed
from steelyard.errors import InfraError, InputError, boundary
from steelyard.worktree.git import GitError, git, sealed_env, user_env
from steelyard.worktree.ignore import BUILT_IN
from steelyard.worktree.walk import open_file, walk
from steelyard.worktree.write import TreeWriter

MESSAGE = "Start"
_CONFIG = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[user]
\tname = agent
\temail = agent@localhost
"""
_WHO = {
    "GIT_AUTHOR_NAME": "Steelyard",
    "GIT_AUTHOR_EMAIL": "steelyard@localhost",
    "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Steelyard",
    "GIT_COMMITTER_EMAIL": "steelyard@localhost",
    "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
}


def plant(seed: Seed, root: Path, overlay: Path | None, tree: Path) -> None:
    """Make `tree` (an empty or missing directory) from the seed and the arm's overlay; paths are relative to `root`."""
    with boundary("sandbox_error", "making the tree"):
        tree.mkdir(parents=True, exist_ok=True)
    if seed.directory is not None:
        copy_directory(root / seed.directory, tree, f"the seed directory {seed.directory}")
    elif seed.git is not None:
        _check_out(seed, root, tree)
    elif seed.archive is not None:
        from steelyard.worktree.archive import unpack

        unpack(root / seed.archive, tree)
    if overlay is not None:
        copy_directory(root / overlay, tree, f"the overlay {overlay}", strict=True)
    _commit(tree, every=seed.git is not None)


def copy_directory(source: Path, tree: Path, called: str, strict: bool = False) -> None:
    """Copy a directory over a tree: symlinks as they are, `.git` and `.steelyard` never; `strict` refuses a `.git`."""
    if not source.is_dir():
        raise InputError(f"{called} does not exist or is no directory ({source}); correct the path")
    source = source.resolve()
    if strict:
        _refuse_git(source, called)
    own = tree.resolve()

    def enter(path: str) -> bool:
        if path == ".steelyard" or source / path == own:
            return False  # earlier runs' answers, and the tree itself when it is made below its own seed
        writer.directory(path)
        return True

    def visit(parent: int, name: str, path: str) -> None:
        _copy_one(writer, parent, name, path, called)

    try:
        with TreeWriter(tree, replace=strict) as writer:
            walk(source, enter, visit)
    except OSError as error:
        raise InfraError("sandbox_error", f"copying {called}: {error.strerror}") from error


def _refuse_git(source: Path, called: str) -> None:
    for folder, names, files in os.walk(source):
        if ".git" in (*names, *files):
            raise InputError(f"{called} has a .git in {folder}; an overlay may not write into .git: remove it")


def _copy_one(writer: TreeWriter, parent: int, name: str, path: str, called: str) -> None:
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        writer.link(path, os.fsencode(os.readlink(name, dir_fd=parent)))
        return
    fd = open_file(parent, name) if stat.S_ISREG(status.st_mode) else None
    if fd is None:
        raise InputError(f"{called}: {path!r} is no regular file, directory or symlink; remove it")
    with os.fdopen(fd, "rb") as file:
        chunks = iter(lambda: file.read(1 << 20), b"")
        writer.file(path, chunks, bool(status.st_mode & stat.S_IXUSR))


def _check_out(seed: Seed, root: Path, tree: Path) -> None:
    ref = seed.ref or "HEAD"
    place = str(seed.git)
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix=".seed-") as folder:
        bare = Path(folder) / "git"
        git("init", "-q", "--bare", "--template=", str(bare))
        env = sealed_env()
        if _is_url(place, root):
            commit = _fetch(place, ref, bare)
        else:
            commit, objects = _find_commit(root / place, place, ref)
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = as_one_path(objects)
        try:
            at = ("--git-dir", str(bare), "--work-tree", str(tree))
            git(*at, "read-tree", commit, env=env)
            git(*at, "checkout-index", "-a", "-q", cwd=tree, env=env)
        except GitError as error:
            raise InputError(f"the seed {place} at {ref} cannot be checked out: {error}") from error


def _is_url(place: str, root: Path) -> bool:
    return "://" in place or (re.match(r"[\w.@-]+:", place) is not None and not (root / place).exists())


def as_one_path(path: Path) -> str:
    """A path as an entry of a list that git splits at colons."""
    text = str(path)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if ":" in text or '"' in text else text


def git_directory(place: Path, called: str) -> Path:
    """The git directory of exactly this repository: one further up is never taken for it."""
    for found in (place / ".git", place):
        if found.exists() and (found.is_file() or (found / "HEAD").exists()):
            return found
    raise InputError(f"{called} is no git repository ({place}); give a repository's top directory or a URL")


def _find_commit(place: Path, called: str, ref: str) -> tuple[str, Path]:
    where = git_directory(place, f"the seed {called}")
    try:
        top = ("rev-parse",) if where == place else ("-C", str(place), "rev-parse")
        at = ("--git-dir", str(where)) if where == place else ()
        objects = git(*at, *top, "--git-path", "objects").decode().strip()
    except GitError as error:
        raise InputError(f"the seed {called} is no git repository: {error}") from error
    try:
        commit = git(*at, *top, "--verify", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
    except GitError:
        raise InputError(f"the seed {called} has no commit {ref!r}; give a branch, a tag or a commit's hash") from None
    return commit.splitlines()[-1], (place / objects).resolve()


def _fetch(url: str, ref: str, bare: Path) -> str:
    at = ("--git-dir", str(bare))
    verify = (*at, "rev-parse", "--verify", "--end-of-options")
    try:
        git(*at, "fetch", "-q", "--depth=1", "--no-tags", "--end-of-options", url, ref, env=user_env())
        return git(*verify, "FETCH_HEAD^{commit}").decode().splitlines()[-1]
    except (GitError, subprocess.TimeoutExpired):
        pass  # an older server, or an abbreviated hash: everything is fetched and searched
    try:
        git(*at, "fetch", "-q", "--end-of-options", url, "+refs/*:refs/*", env=user_env())
    except (GitError, subprocess.TimeoutExpired) as error:
        raise InfraError("network", f"the seed {url} cannot be fetched: {error}") from error
    try:
        return git(*verify, f"{ref}^{{commit}}").decode().splitlines()[-1]
    except GitError:
        raise InputError(f"the seed {url} has no commit {ref!r}; give a branch, a tag or a commit's hash") from None


def _commit(tree: Path, every: bool) -> None:
    """One commit by nobody in particular at a fixed time, packed, without a log of how it came to be."""
    folder = tree / ".git"
    at = ("--git-dir", str(folder), "--work-tree", str(tree), "-c", "core.logAllRefUpdates=false")
    try:
        git("init", "-q", "--template=", "-b", "main", str(tree))
        (folder / "info").mkdir(exist_ok=True)
        (folder / "info" / "exclude").write_bytes(BUILT_IN)
        # A git seed's files are all tracked; of other seeds, what their own rules ignore stays untracked.
        git(*at, "add", "-A", *(("-f",) if every else ()), cwd=tree)
        git(*at, "commit", "-q", "--allow-empty", "-m", MESSAGE, env=sealed_env() | _WHO, cwd=tree)
        git(*at, "repack", "-adnq", cwd=tree)
        git(*at, "prune-packed", "-q", cwd=tree)
    except (GitError, subprocess.TimeoutExpired) as error:
        if "No space left" in str(error) or isinstance(error, subprocess.TimeoutExpired):
            raise InfraError("sandbox_error", f"making the tree's repository: {error}") from error
        raise InputError(f"the seed cannot be made into a git repository: {error}") from error
    for name in ("COMMIT_EDITMSG", "description", "logs/HEAD"):
        (folder / name).unlink(missing_ok=True)
    (folder / "config").write_bytes(_CONFIG)
