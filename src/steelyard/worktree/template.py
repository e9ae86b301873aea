"""Plants each seed once and copies it cheaply for every run; a template that was touched is planted again."""

import os
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from steelyard.domain.record import canonical_json, sha256
from steelyard.domain.suite import Seed
from steelyard.errors import InfraError, InputError, boundary
from steelyard.worktree.entry import MIB
from steelyard.worktree.objects import write_all
from steelyard.worktree.remove import remove_tree
from steelyard.worktree.seed import plant
from steelyard.worktree.snapshot import Baseline, baseline_in_place

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class _TouchedError(Exception):
    """A file of the template is not what was planted."""


@dataclass(frozen=True, slots=True)
class _File:
    """A planted file with what shows that nobody touched it: a change of content or mode always moves ctime."""

    path: str
    mode: int
    stamp: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Manifest:
    """All that was planted, in the order in which it is copied."""

    folders: tuple[str, ...]
    files: tuple[_File, ...]
    links: tuple[tuple[str, str], ...]


class Template:
    """A planted tree. `baseline` is the record of it that a run without `setup` commands needs no other of."""

    def __init__(self, directory: Path, seed: Seed, root: Path, overlay: Path | None) -> None:
        self.tree = directory / "tree"
        self._source = (seed, root, overlay)
        self._lock = threading.Lock()
        self._plant()
        self.baseline: Baseline = baseline_in_place(self.tree)

    def copy_to(self, tree: Path) -> None:
        """Make a copy in a missing or empty directory; no file of it is shared with the template."""
        with boundary("sandbox_error", "copying the seed"):
            try:
                self._copy(tree)
            except _TouchedError:
                remove_tree(tree)
                self._replant()
                self._copy(tree)

    def _plant(self) -> None:
        plant(*self._source, self.tree)
        self._manifest = _record(self.tree)

    def _replant(self) -> None:
        with self._lock:
            try:
                _verify(self.tree, self._manifest)
            except _TouchedError:
                remove_tree(self.tree)
                self._plant()
                if baseline_in_place(self.tree).tree_id != self.baseline.tree_id:
                    raise InfraError("sandbox_error", "the seed changed while its runs were going on") from None

    def _copy(self, tree: Path) -> None:
        manifest = self._manifest
        source, target = str(self.tree), str(tree)
        os.makedirs(target, exist_ok=True)  # noqa: PTH103  # plain strings: this runs for every run
        for folder in manifest.folders:
            os.mkdir(target + folder)  # noqa: PTH102
        for file in manifest.files:
            _copy_file(source + file.path, target + file.path, file)
        for path, link in manifest.links:
            os.symlink(link, target + path)  # noqa: PTH211


def _copy_file(source: str, target: str, file: _File) -> None:
    try:
        fd = os.open(source, _READ)
    except OSError as error:
        raise _TouchedError from error
    try:
        out = os.open(target, _NEW, file.mode)
        try:
            left = file.stamp[1]
            while left > 0:
                chunk = os.read(fd, min(left, MIB))
                if not chunk:
                    raise _TouchedError
                write_all(out, chunk)
                left -= len(chunk)
            os.fchmod(out, file.mode)
        finally:
            os.close(out)
        if _stamp(os.fstat(fd)) != file.stamp:  # after reading: what was read is what was planted
            raise _TouchedError
    finally:
        os.close(fd)


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _refuse(error: OSError) -> None:
    raise InputError(f"the seed has a directory that cannot be read: {error.strerror}") from error


def _record(tree: Path) -> _Manifest:
    folders: list[str] = []
    files: list[_File] = []
    links: list[tuple[str, str]] = []
    for folder, names, found in os.walk(tree, onerror=_refuse):
        inside = folder[len(str(tree)) :]
        for name in sorted(names + found):
            path = f"{inside}/{name}"
            status = os.lstat(f"{folder}/{name}")
            if stat.S_ISLNK(status.st_mode):
                links.append((path, os.readlink(f"{folder}/{name}")))  # noqa: PTH115
            elif stat.S_ISDIR(status.st_mode):
                folders.append(path)
            else:
                files.append(_File(path, 0o755 if status.st_mode & stat.S_IXUSR else 0o644, _stamp(status)))
    return _Manifest(tuple(folders), tuple(files), tuple(links))


def _verify(tree: Path, manifest: _Manifest) -> None:
    for file in manifest.files:
        try:
            status = os.lstat(str(tree) + file.path)
        except OSError as error:
            raise _TouchedError from error
        if _stamp(status) != file.stamp:
            raise _TouchedError


class Templates:
    """All templates of one experiment, in a directory that only the harness may enter; safe to share by threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._made: dict[str, Template] = {}
        self._refused: dict[str, InputError] = {}

    def get(self, seed: Seed, suite_root: Path, overlay: Path | None) -> Template:
        """The template of a seed with an overlay, planted at its first use; one that is wrong is tried only once."""
        named = [seed.model_dump(mode="json"), os.path.abspath(suite_root), None if overlay is None else str(overlay)]  # noqa: PTH100
        key = sha256(canonical_json(named))[:24]
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key in self._refused:
                raise self._refused[key]
            if key not in self._made:
                directory = self._root / key
                try:
                    self._make_room(directory)
                    self._made[key] = Template(directory, seed, suite_root, overlay)
                except BaseException as error:
                    remove_tree(directory)  # others need the room
                    if isinstance(error, InputError):
                        self._refused[key] = error
                    raise
            return self._made[key]

    def _make_room(self, directory: Path) -> None:
        with boundary("sandbox_error", "making room for the seed"):
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._root.chmod(0o700)
            remove_tree(directory)
            directory.mkdir(mode=0o700)
