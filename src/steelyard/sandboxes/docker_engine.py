"""The Docker Engine's API over its socket, with nothing but the standard library: one connection a request."""

import http.client
import io
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import quote, urlencode, urlsplit

from steelyard.errors import InfraError

ANSWER_S = 120.0
CHUNK = 256 * 1024
REMEDY = "start Docker (or Podman with its Docker-compatible socket), or say in DOCKER_HOST where it listens"


class EngineError(Exception):
    """The engine refused; `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def default_host(environ: Mapping[str, str] | None = None) -> str:
    """Where the engine listens: DOCKER_HOST, else the first usual socket that is there."""
    environ = os.environ if environ is None else environ
    if environ.get("DOCKER_HOST"):
        return environ["DOCKER_HOST"]
    runtime = environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    usual = (
        "/var/run/docker.sock",
        f"{runtime}/docker.sock",
        f"{runtime}/podman/podman.sock",
        "/run/podman/podman.sock",
    )
    return "unix://" + next((path for path in usual if Path(path).is_socket()), usual[0])


class _Connection(http.client.HTTPConnection):
    """HTTP over whatever socket `dial` opens."""

    def __init__(self, dial: Callable[[], socket.socket]) -> None:
        super().__init__("docker")
        self._dial = dial

    def connect(self) -> None:
        """Open the socket."""
        self.sock = self._dial()


@dataclass(frozen=True)
class Engine:
    """One engine; may be asked from any thread."""

    host: str

    @property
    def is_near(self) -> bool:
        """Whether connections last: those to other machines may be cut when they are idle."""
        return self.host.startswith("unix:")

    def dial(self) -> socket.socket:
        """An open connection; `InfraError` when nobody listens."""
        parts = urlsplit(self.host)
        try:
            if parts.scheme == "unix":
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                sock.settimeout(ANSWER_S)
                try:
                    sock.connect(parts.path)
                except OSError:
                    sock.close()
                    raise
                return sock
            if parts.scheme in ("tcp", "http") and parts.hostname:
                return socket.create_connection((parts.hostname, parts.port or 2375), ANSWER_S)
        except (OSError, ValueError) as error:
            raise InfraError("sandbox_error", f"no Docker engine answers at {self.host} ({error}); {REMEDY}") from error
        raise InfraError("sandbox_error", f"DOCKER_HOST {self.host!r} is not supported; allowed: unix://… and tcp://…")

    @contextmanager
    def answer(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: object = None
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request and hand over the open answer; `EngineError` when it is a refusal.

        `body` is something for JSON, or an open file with a tar archive.
        """
        connection = _Connection(self.dial)
        headers = {"Host": "docker"}
        data: bytes | IO[bytes] | None = None
        if isinstance(body, io.IOBase):
            data, headers["Content-Type"] = cast("IO[bytes]", body), "application/x-tar"
            headers["Content-Length"] = str(os.fstat(body.fileno()).st_size)
        elif body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        url = quote(path, safe="/:@") + ("?" + urlencode(query) if query else "")
        try:
            try:
                connection.request(method, url, data, headers)
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                what = f"the Docker engine at {self.host} broke off ({error or type(error).__name__}); {REMEDY}"
                raise InfraError("sandbox_error", what) from error
            if response.status >= 400:
                raise EngineError(response.status, _message(response))
            yield response
        finally:
            connection.close()

    def ask(self, method: str, path: str, query: Mapping[str, str] | None = None, body: object = None) -> Any:
        """Send a request; its answer from JSON, or None when there is none."""
        with self.answer(method, path, query, body) as response:
            try:
                text = response.read()
            except (OSError, http.client.HTTPException) as error:
                raise InfraError("sandbox_error", f"the Docker engine's answer broke off: {error}") from error
        return json.loads(text) if text.strip() else None

    def hijack(self, path: str, body: object) -> tuple[socket.socket, bytes]:
        """Turn a request's connection into a raw stream, both ways; with it, what has already arrived on it."""
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        sock = self.dial()
        try:
            sock.sendall(head.encode() + data)
            got = b""
            while b"\r\n\r\n" not in got:
                part = sock.recv(CHUNK)
                if not part:
                    raise InfraError("sandbox_error", "the Docker engine closed the connection of a command")
                got += part
            status, _, rest = got.partition(b"\r\n\r\n")
            code = int(status.split()[1])
            if code not in (101, 200):
                raise EngineError(code, _said(rest.decode("utf-8", "replace"), code))
        except BaseException as error:
            sock.close()
            if isinstance(error, OSError):
                raise InfraError("sandbox_error", f"the Docker engine broke off: {error}") from error
            raise
        return sock, rest


def _message(response: http.client.HTTPResponse) -> str:
    """The one line that the engine says."""
    return _said(response.read(16_384).decode("utf-8", "replace"), response.status)


def _said(text: str, status: int) -> str:
    """The message in a refusal, in one line."""
    try:
        said = json.loads(text)
        text = said["message"] if isinstance(said, dict) and "message" in said else text
    except ValueError:
        pass
    return " ".join(str(text).split())[:500] or f"status {status}"


@contextmanager
def engine_trouble(doing: str) -> Iterator[None]:
    """A refusal of the engine is our machine's fault, not the arm's."""
    try:
        yield
    except EngineError as error:
        raise InfraError("sandbox_error", f"{doing}: {error}") from error
