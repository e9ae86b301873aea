"""Which image a sandbox is made of: a named one that is there, or one built once from a Dockerfile."""

import hashlib
import os
import shutil
import stat
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import InfraError
from steelyard.sandboxes import docker_owner
from steelyard.sandboxes.docker_engine import Engine, EngineError, engine_trouble
from steelyard.sandboxes.docker_files import ContainerFiles, Owner, directory, plain_file
from steelyard.sandboxes.files import Places

TREE, HOME, TMP = "/repo", "/home/dev", "/tmp"  # noqa: S108  # paths inside the container, private to it
PLACES = Places({inside: Path(inside) for inside in (TREE, HOME, TMP)})
USER, ROOT = Owner(1000, 1000), Owner(0, 0)
DEV = b"dev:x:1000:1000:dev:/home/dev:/bin/sh\n"
DEFAULT_IMAGE = "python:3.12-slim"
BUILT, READY = "steelyard-built", "steelyard-ready"
VERSION = "1"  # of what makes an image ready
CONTENT = "steelyard.content"
BUILD_S = 3600
CONTEXT_MB = 512


@dataclass
class Images:
    """Finds and builds images; may be asked from any thread."""

    engine: Engine
    default: str
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ready(self, found: dict[str, Any]) -> dict[str, Any]:
        """The image that was found, made ready for sandboxes: what the engine knows of it."""
        name = ready_name(found["Id"])
        with self._lock:
            ready = self._look(name)
            if ready is None:
                self._make_ready(found["Id"], name)
                ready = self._look(name)
        return found if ready is None else ready

    def _make_ready(self, image: str, name: str) -> None:
        """Add a thin layer with our directories and our user, once per image: faster than in every container."""
        with engine_trouble("making the image ready"):
            config = {"Image": image, "Labels": docker_owner.labels("ready"), "Entrypoint": ["/bin/sh"]}
            made = self.engine.ask("POST", "/containers/create", body=config)["Id"]
            try:
                files = ContainerFiles(self.engine, made, PLACES, USER)
                entries = [
                    directory(TREE[1:], USER),
                    directory(HOME[1:], USER, 0o700),
                    directory(TMP[1:], ROOT, 0o1777),
                ]
                if passwd := with_our_user(files.fetch("/etc/passwd", 1 << 20) or b""):
                    entries.append(plain_file("etc/passwd", passwd, ROOT))
                files.put_entries(entries)
                repo, _, tag = name.partition(":")
                self.engine.ask("POST", "/commit", {"container": made, "repo": repo, "tag": tag}, {})
            finally:
                docker_owner.remove(self.engine, made)

    def find(self, image: str | None, dockerfile: str | None) -> dict[str, Any]:
        """What the engine knows of the image as it was given; `InfraError` when it can't be had."""
        name = self.build(Path(dockerfile)) if dockerfile is not None else image or self.default
        found = self._look(name)
        if found is None:
            which = "" if image or dockerfile else " (the default; a scenario's `image` names another)"
            raise InfraError("sandbox_error", f"there is no image {name!r}{which}; run: docker pull {name}")
        return found

    def _look(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self.engine.ask("GET", f"/images/{name}/json")
        except EngineError as error:
            if error.status == 404:
                return None
            raise InfraError("sandbox_error", f"image {name!r}: {error}") from error
        return found

    def build(self, dockerfile: Path) -> str:
        """Build a Dockerfile in its own directory, once per content of both; its image's name."""
        try:
            digest = content_hash(dockerfile)
        except OSError as error:
            raise InfraError("sandbox_error", f"cannot read the Dockerfile {dockerfile}: {error.strerror}") from error
        name = f"{BUILT}:{digest[:20]}"
        with self._lock:
            if self._look(name) is None:
                self._run_build(dockerfile, name, digest)
        return name

    def _run_build(self, dockerfile: Path, name: str, digest: str) -> None:
        program = shutil.which("docker") or shutil.which("podman")
        if program is None:
            raise InfraError("sandbox_error", "building a Dockerfile needs the docker or podman command; install one")
        where = str(dockerfile.absolute().parent)
        words = [program, "build", "-q", "-t", name, "--label", f"{CONTENT}={digest}", "-f", str(dockerfile), where]
        env = {**os.environ, "DOCKER_HOST": self.engine.host}
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=BUILD_S, env=env)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InfraError("sandbox_error", f"building {dockerfile}: {error}") from error
        if done.returncode != 0:
            said = " ".join((done.stderr or done.stdout).split())[-400:]
            raise InfraError("sandbox_error", f"building {dockerfile} failed: {said}")


def ready_name(image: str) -> str:
    """What an image is called once it is ready, by the id of the image as it was given."""
    return f"{READY}:{image.rpartition(':')[2][:20]}-{VERSION}"


def with_our_user(passwd: bytes) -> bytes:
    """The image's users and ours, since programs look up who they are; empty when the image knows our number."""
    known = any(line.split(b":")[2:3] == [b"%d" % USER.uid] for line in passwd.splitlines())
    return b"" if known else passwd.rstrip(b"\n") + (b"\n" if passwd else b"") + DEV


def content_hash(dockerfile: Path) -> str:
    """A hash of a Dockerfile and of everything in its directory, which a build may copy."""
    digest = hashlib.sha256(dockerfile.read_bytes())
    room = CONTEXT_MB * 1024 * 1024
    for where, below, names in os.walk(dockerfile.absolute().parent):
        below[:] = sorted(name for name in below if name not in (".git", ".steelyard"))
        for name in sorted([*names, *below]):
            path = Path(where, name)
            info = path.lstat()
            digest.update(repr((os.fspath(path.relative_to(dockerfile.absolute().parent)), info.st_mode)).encode())
            if stat.S_ISLNK(info.st_mode):
                digest.update(os.fsencode(path.readlink()))
            elif stat.S_ISREG(info.st_mode):
                room -= info.st_size
                if room < 0:
                    remedy = "give the Dockerfile a directory of its own"
                    raise InfraError("sandbox_error", f"{dockerfile.parent} holds more than {CONTEXT_MB} MB; {remedy}")
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
