"""The change that is already there in somebody's git repository, against a revision of it.

The repository's own index, configuration, hooks, attributes and exclude files play no part: its objects are read
through a git directory of the grader's own, and its working tree is read as any tree is.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from steelyard.errors import InfraError, InputError
from steelyard.worktree.diff import CapturedChange, capture
from steelyard.worktree.entry import IN_MEMORY, Algorithm, Entry, git_mode, object_id
from steelyard.worktree.git import GitError, git, sealed_env
from steelyard.worktree.ignore import BUILT_IN, IgnoreRules
from steelyard.worktree.keep import Keep, read_fd
from steelyard.worktree.seed import as_one_path, git_directory
from steelyard.worktree.snapshot import Baseline, ignore_files
from steelyard.worktree.walk import open_below

_LFS = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_POINTER_MAX = 1024
_GITLINK = 0o160000
_LIST = ("ls-tree", "-r", "-z", "-l", "--full-tree")


class CommittedContents:
    """The files of a commit, read from the repository's objects and kept from then on."""

    def __init__(self, env: dict[str, str], keep: Keep) -> None:
        self._env = env
        self._keep = keep
        self.pointers: dict[str, Entry] = {}
        """What is committed for contents that Git LFS put in its place."""

    def prepare(self, wanted: Iterable[tuple[str, Entry]]) -> None:
        """Fetch all that is missing with one process."""
        entries = [self.pointers.get(entry.oid, entry) for _, entry in wanted]
        missing = sorted({e.oid for e in entries if e.oid not in self._keep and e.size <= IN_MEMORY})
        for start in range(0, len(missing), 256):
            self._fetch(missing[start : start + 256])

    def _fetch(self, oids: list[str]) -> None:
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        try:
            out = git("cat-file", "--batch", env=self._env, stdin=asked)
        except (GitError, subprocess.TimeoutExpired) as error:
            raise InfraError("sandbox_error", f"reading the base revision: {error}") from error
        at = 0
        for oid in oids:
            end = out.index(b"\n", at)
            words = out[at:end].split(b" ")
            if words[-1] == b"missing":
                raise InfraError("sandbox_error", f"the repository lacks the object {oid}; fetch it and try again")
            size = int(words[2])
            data = out[end + 1 : end + 1 + size]
            if object_id(data, self._keep.algorithm) != oid:
                raise InfraError("sandbox_error", f"the repository's object {oid} is damaged")
            self._keep.put(oid, data)
            at = end + size + 2

    def chunks(self, path: str, entry: Entry) -> Iterator[bytes]:
        """The content in pieces; a file over 32 MiB is read in one piece all the same."""
        entry = self.pointers.get(entry.oid, entry)
        if entry.size > IN_MEMORY:
            yield git("cat-file", "blob", entry.oid, env=self._env)
            return
        self.prepare([(path, entry)])
        yield from self._keep.chunks(path, entry)


def change_of_repo(repo: Path, base: str, keep: Path) -> CapturedChange:
    """The whole working tree, untracked files included, against a revision; the base's own ignore rules decide."""
    if not repo.is_dir():
        raise InputError(f"{repo} does not exist or is no directory; give a git repository's top directory")
    top = _top(repo)
    commit, algorithm, objects = _resolve(top, base)
    env = _own_git(keep / "base", objects, algorithm)
    try:
        entries = _all_entries(top, commit, env)
    except (GitError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{top}: the revision {base!r} cannot be read: {error}") from error
    contents = CommittedContents(env, Keep(keep / "before", algorithm))
    rules = IgnoreRules(ignore_files(entries, contents), BUILT_IN + b"/.steelyard/\n")  # where our own store stands
    _accept_lfs(top, entries, contents, algorithm)
    return capture(top, Baseline(entries, contents, rules, algorithm), keep)


def _top(repo: Path) -> Path:
    for place in (repo.resolve(), *repo.resolve().parents):
        if (place / ".git").exists():
            return place
    raise InputError(f"{repo} is in no git repository; run this in a checkout or name one")


def _resolve(top: Path, base: str) -> tuple[str, Algorithm, Path]:
    git_directory(top, str(top))
    at = ("-C", str(top), "rev-parse")
    try:
        objects = git(*at, "--git-path", "objects").decode().rstrip("\n")
        algorithm: Algorithm = "sha256" if git(*at, "--show-object-format").strip() == b"sha256" else "sha1"
    except GitError as error:
        raise InputError(f"{top} is no git repository that can be read: {error}") from error
    try:
        commit = git(*at, "--verify", "--end-of-options", f"{base}^{{commit}}").decode().split()[-1]
    except GitError:
        raise InputError(
            f"{top} has no revision {base!r}; name a commit that is there (shallow clones: fetch it)"
        ) from None
    return commit, algorithm, (top / objects).resolve()


def _own_git(directory: Path, objects: Path, algorithm: Algorithm) -> dict[str, str]:
    """The environment of a git directory of our own that only borrows the repository's objects."""
    git("init", "-q", "--bare", "--template=", f"--object-format={algorithm}", str(directory))
    return sealed_env() | {"GIT_DIR": str(directory), "GIT_ALTERNATE_OBJECT_DIRECTORIES": as_one_path(objects)}


def _all_entries(top: Path, commit: str, env: dict[str, str]) -> dict[str, Entry]:
    """Every file of a commit; a submodule that is checked out counts with the files of the commit it is pinned to."""
    entries, submodules = _entries(git(*_LIST, commit, env=env), "")
    while submodules:
        path, pinned = submodules.pop()
        try:
            git_directory(top / path, path)
            objects = git("-C", str(top / path), "rev-parse", "--git-path", "objects").decode().rstrip("\n")
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] += ":" + as_one_path((top / path / objects).resolve())
            below, deeper = _entries(git(*_LIST, pinned, env=env), f"{path}/")
        except (GitError, InputError):
            continue  # not checked out, or not at hand: whatever stands there is shown as new
        entries |= below
        submodules += deeper
    return entries


def _entries(listing: bytes, prefix: str) -> tuple[dict[str, Entry], list[tuple[str, str]]]:
    entries: dict[str, Entry] = {}
    submodules: list[tuple[str, str]] = []
    for row in listing.split(b"\0")[:-1]:
        about, _, name = row.partition(b"\t")
        mode, _kind, oid, size = about.decode("ascii").split()
        path = prefix + os.fsdecode(name)
        if int(mode, 8) == _GITLINK:
            submodules.append((path, oid))
        elif not size.isdigit():
            raise GitError(f"the object {oid} of {path!r} is missing or damaged; git fsck tells more")
        else:  # old repositories hold modes such as 100664
            entries[path] = Entry(git_mode(int(mode, 8)), oid, int(size))
    return entries, submodules


def _accept_lfs(top: Path, entries: dict[str, Entry], contents: CommittedContents, algorithm: Algorithm) -> None:
    """A file that Git LFS checked out is unchanged when it has the hash that its committed pointer names."""
    if not any(path.rpartition("/")[2] == ".gitattributes" for path in entries):
        return
    small = [(path, entry) for path, entry in entries.items() if entry.is_file and 100 < entry.size < _LFS_POINTER_MAX]
    contents.prepare(small)
    for path, entry in small:
        pointer = b"".join(contents.chunks(path, entry))
        if not pointer.startswith(_LFS) or (fd := open_below(top, path)) is None:
            continue
        with open(fd, "rb") as file:  # noqa: PTH123  # a descriptor
            named = pointer.split(b"oid sha256:", 1)[-1][:64].decode("ascii", "replace")
            if hashlib.file_digest(file, "sha256").hexdigest() != named:
                continue
            size = file.tell()
            file.seek(0)
            if size <= IN_MEMORY:
                entries[path] = Entry(entry.mode, object_id(read_fd(fd, size), algorithm), size)
                contents.pointers[entries[path].oid] = entry
