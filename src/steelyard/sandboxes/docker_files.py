"""Files in and out of a container, as tar streams through the engine: nothing of the host is mounted."""

import base64
import http.client
import io
import json
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from steelyard.errors import AgentError, InfraError
from steelyard.sandboxes.docker_engine import Engine, EngineError, engine_trouble
from steelyard.sandboxes.files import Places, _open_below, remove

CHUNK = 1 << 20
ZEROS = bytes(CHUNK)
GO_DIRECTORY, GO_LINK = 1 << 31, 1 << 27  # the bits of Go's os.FileMode
TREE_MB = 8 * 1024
Entry = tuple[tarfile.TarInfo, bytes]


@dataclass(frozen=True)
class Owner:
    """To whom files in the container belong."""

    uid: int
    gid: int

    def own(self, info: tarfile.TarInfo) -> tarfile.TarInfo:
        """The same entry as this user's; the names that the host knows say nothing in there."""
        info.uid, info.gid, info.uname, info.gname = self.uid, self.gid, "", ""
        return info


@dataclass(frozen=True)
class ContainerFiles:
    """Reads and writes the files of one container."""

    engine: Engine
    container: str
    places: Places
    owner: Owner

    @property
    def _archive(self) -> str:
        return f"/containers/{self.container}/archive"

    def put(self, where: str, archive: IO[bytes]) -> None:
        """Unpack an archive in a directory of the container."""
        archive.seek(0)
        with engine_trouble(f"copying files to {where}"):
            self.engine.ask("PUT", self._archive, {"path": where}, archive)

    def put_entries(self, entries: Iterable[Entry]) -> None:
        """Make directories and small files, by their paths from the container's root."""
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                for info, content in entries:
                    archive.addfile(info, io.BytesIO(content))
            self.put("/", file)

    def put_tree(self, tree: Path, inside: str, scratch: Path) -> None:
        """Copy a whole host directory in."""
        with tempfile.TemporaryFile(dir=scratch) as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                archive.add(tree, inside.lstrip("/"), filter=self._kept)
            self.put("/", file)

    def put_paths(self, tree: Path, paths: Iterable[str], inside: str, scratch: Path) -> None:
        """Copy some files of a host directory in; the directories above them come along, replacing what is no such."""
        done: set[Path] = set()
        with tempfile.TemporaryFile(dir=scratch) as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                for path in paths:
                    names = Path(path).parts
                    for count in range(1, len(names) + 1):
                        part = Path(*names[:count])
                        if part not in done:
                            done.add(part)
                            archive.add(tree / part, os.fspath(part), recursive=False, filter=self._kept)
            self.put(inside, file)

    def _kept(self, info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        """Devices and sockets do not belong into a code tree."""
        return self.owner.own(info) if info.isreg() or info.isdir() or info.issym() or info.islnk() else None

    def look(self, path: str) -> int | None:
        """A path's mode as Go tells it, the path itself not followed; None when there is nothing."""
        try:
            with self.engine.answer("HEAD", self._archive, {"path": path}) as response:
                told = response.headers.get("X-Docker-Container-Path-Stat", "")
        except EngineError as error:
            if error.status in (400, 404):
                return None
            raise InfraError("sandbox_error", f"looking at {path!r}: {error}") from error
        return int(json.loads(base64.b64decode(told))["mode"]) if told else None

    def read(self, path: str, limit: int) -> bytes | None:
        """A regular file's first bytes; None when there is none or a link stands on the way."""
        found = self.places.locate(path)
        if found is None or not found[1]:
            return None
        here = os.fspath(found[0])
        for name in found[1][:-1]:
            here = f"{here}/{name}"
            mode = self.look(here)
            if mode is None or not mode & GO_DIRECTORY:
                return None
        return self.fetch(f"{here}/{found[1][-1]}", limit)

    def fetch(self, path: str, limit: int) -> bytes | None:
        """A regular file's first bytes, wherever in the container it is."""
        try:
            with (
                self.engine.answer("GET", self._archive, {"path": path}) as response,
                tarfile.open(fileobj=response, mode="r|", bufsize=64 * 1024) as archive,
            ):
                member = archive.next()
                file = archive.extractfile(member) if member is not None and member.isreg() else None
                return None if file is None else file.read(limit)
        except EngineError as error:
            if error.status in (400, 404):
                return None
            raise InfraError("sandbox_error", f"reading {path!r}: {error}") from error
        except (tarfile.TarError, OSError, http.client.HTTPException) as error:
            raise InfraError("sandbox_error", f"reading {path!r}: {error}") from error

    def write(self, path: str, data: bytes) -> None:
        """Write a file, making its directories; a link or file in the way of one is replaced."""
        found = self.places.locate(path)
        if found is None or not found[1]:
            raise InfraError("sandbox_error", f"cannot write {path!r}: it is not in the sandbox's own directories")
        root, names = os.fspath(found[0]), found[1]
        known = 0
        for count in range(1, len(names)):
            mode = self.look("/".join((root, *names[:count])))
            if mode is None or not mode & GO_DIRECTORY:
                break
            known = count
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                for count in range(known + 1, len(names)):
                    archive.addfile(directory("/".join(names[:count]), self.owner)[0])
                info, data = plain_file("/".join(names), data, self.owner)
                archive.addfile(info, io.BytesIO(data))
            self.put(root, file)

    def fetch_tree(self, inside: str, tree: Path, limit_mb: int = TREE_MB) -> None:
        """Make a host directory hold what the container's directory holds now, and nothing else."""
        remove([tree])
        tree.mkdir(parents=True)
        doing = "collecting the tree"
        with engine_trouble(doing), self.engine.answer("GET", self._archive, {"path": inside}) as response:
            try:
                with tarfile.open(fileobj=response, mode="r|", bufsize=CHUNK) as archive:
                    unpack(archive, tree, limit_mb)
            except OSError as error:
                raise InfraError("sandbox_error", f"{doing}: {error}") from error
            except (tarfile.TarError, http.client.HTTPException, ValueError) as error:
                self.engine.ask("GET", "/version")  # an engine that is gone is not the agent's doing
                raise AgentError("bad_output", f"the tree in the container can't be read: {error}") from error


def directory(name: str, owner: Owner, mode: int = 0o755) -> Entry:
    """A directory for an archive."""
    info = owner.own(tarfile.TarInfo(name))
    info.type, info.mode = tarfile.DIRTYPE, mode
    return info, b""


def plain_file(name: str, data: bytes, owner: Owner) -> Entry:
    """A file for an archive."""
    info = owner.own(tarfile.TarInfo(name))
    info.size, info.mode = len(data), 0o644
    return info, data


def unpack(archive: tarfile.TarFile, tree: Path, limit_mb: int) -> None:
    """Unpack a container's directory into an empty one; whatever the archive says, nothing lands outside.

    The archive's first name, the directory's own, is left out. Links stay links, devices are left out, and nobody's
    ownership or special rights are taken over: every file stays readable to this user.
    """
    room = limit_mb * 1024 * 1024
    for member in archive:
        names = _below(member.name)
        if not names:
            continue
        room -= member.size
        if room < 0:
            raise AgentError("bad_output", f"the tree in the container is larger than {limit_mb} MB")
        parent = _open_below(tree, names[:-1], make=True)
        try:
            _make(archive, member, names[-1], parent, tree)
        finally:
            os.close(parent)


def _below(name: str) -> tuple[str, ...]:
    """The names below the archive's first one."""
    names = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in names:
        raise tarfile.TarError(f"the name {name!r} leads elsewhere")
    return names[1:]


def _make(archive: tarfile.TarFile, member: tarfile.TarInfo, name: str, parent: int, tree: Path) -> None:
    if member.isdir():
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.chmod(name, member.mode & 0o777 | 0o700, dir_fd=parent)
        return
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
    if member.issym():
        os.symlink(member.linkname, name, dir_fd=parent)
    elif member.islnk():
        there = _below(member.linkname)
        source = _open_below(tree, there[:-1])
        try:
            os.link(there[-1], name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
        finally:
            os.close(source)
    elif member.isfifo():
        os.mkfifo(name, 0o600, dir_fd=parent)
    elif member.isreg():
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=parent)
        with os.fdopen(fd, "wb", buffering=0) as file:
            _copy(archive.extractfile(member), file)
            os.fchmod(fd, member.mode & 0o777 | 0o600)
            os.utime(fd, (member.mtime, member.mtime))


def _copy(source: Any, file: Any) -> None:
    """Copy a file; stretches of zeros become holes, so that a sparse giant does not fill the disk."""
    size = 0
    while part := source.read(CHUNK):
        size += len(part)
        if part == ZEROS[: len(part)]:
            file.seek(len(part), os.SEEK_CUR)
        else:
            view = memoryview(part)
            while view:
                view = view[file.write(view) :]
    file.truncate(size)
