"""The harness's side of wardens: start one, ask it, keep idle ones for the next sandbox."""

import atexit
import itertools
import os
import select
import signal
import socket
import struct
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import InfraError

PROGRAM = Path(__file__).with_name("warden.py")
KEPT_IDLE = 16
ANSWER_S = 40.0  # longer than a warden itself tries to kill


@dataclass(frozen=True, slots=True)
class Used:
    """CPU time and the largest process, as wait4(2) tells them."""

    cpu_s: float = 0.0
    max_rss_kb: int = 0

    def plus(self, other: "Used") -> "Used":
        """Both together."""
        return Used(self.cpu_s + other.cpu_s, max(self.max_rss_kb, other.max_rss_kb))


@dataclass(frozen=True, slots=True)
class Killed:
    """How many processes a kill ended, and what orphans had used."""

    count: int
    used: Used


class Warden:
    """One warden process. Its requests may come from any thread."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        devnull = os.open(os.devnull, os.O_RDWR)
        try:
            argv = [sys.executable, "-I", "-S", str(PROGRAM)]
            sources = (devnull, devnull, devnull, theirs.fileno())
            # Numbers below 4 are taken in every harness, or the kernel would hand them out here.
            actions = [(os.POSIX_SPAWN_DUP2, fd, at) for at, fd in enumerate(sources)]
            self.pid = os.posix_spawn(sys.executable, argv, {}, file_actions=actions, setsid=True, setsigmask=[])
        except OSError as error:
            ours.close()
            raise InfraError("sandbox_error", f"no process can be started here: {error.strerror}") from error
        finally:
            theirs.close()
            os.close(devnull)
        self.control = ours
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)

    def request(self, fields: Iterable[bytes], fds: Sequence[int] = ()) -> None:
        """Send one request with open files; `InfraError` when the warden is gone."""
        body = b"\0".join(fields)
        message = struct.pack("!I", len(body)) + body
        try:
            with self.lock:
                sent = socket.send_fds(self.control, [message], list(fds))
                if sent < len(message):
                    self.control.sendall(message[sent:])
        except OSError as error:
            raise InfraError("sandbox_error", "the process that watches over the sandbox is gone") from error

    def run(self, where: bytes, argv: Sequence[bytes], env: Sequence[bytes], fds: dict[str, int]) -> bytes:
        """Start a command and give back its id; `fds` has status, stdout, stderr, and where wanted stdin and report."""
        ident = str(next(self.numbers)).encode()
        given = b"i" if "stdin" in fds else b"-"
        order = [fds[name] for name in ("status", "stdout", "stderr", "stdin", "report") if name in fds]
        self.request((b"run", ident, where, str(len(argv)).encode(), given, *argv, *env), order)
        return ident

    def signal(self, ident: bytes, signum: int, inner: bool) -> None:
        """Signal a command's processes; with `inner`, all but the command's own."""
        self.request((b"signal", ident, str(int(signum)).encode(), b"inner" if inner else b"all"))

    def kill(self, ident: bytes = b"*") -> Killed:
        """Kill a command and what it left, or everything; returns when it is gone."""
        return self._ask(b"kill", ident)

    def settle(self) -> Used:
        """Wait until only running commands are left, where all else is about to end; what that used."""
        return self._ask(b"settle", b"*").used

    def _ask(self, what: bytes, ident: bytes) -> Killed:
        """Send a request and wait for its answer."""
        read, write = os.pipe()
        try:
            try:
                self.request((what, ident), (write,))
            finally:
                os.close(write)
            answer = self._answer(read)
        finally:
            os.close(read)
        if len(answer) != 4:
            raise InfraError("sandbox_error", "the process that watches over the sandbox is gone")
        if int(answer[1]) > 0:
            raise InfraError("sandbox_error", f"{int(answer[1])} processes of the sandbox can't be killed")
        return Killed(int(answer[0]), Used(float(answer[2]), int(answer[3])))

    def _answer(self, pipe: int) -> list[bytes]:
        """Wait for an answer; a warden that a command has stopped is woken once."""
        waiting = select.poll()
        waiting.register(pipe, select.POLLIN)
        if not waiting.poll(ANSWER_S * 1000):
            self._signal(signal.SIGCONT)
            if not waiting.poll(ANSWER_S * 1000):
                return []
        return os.read(pipe, 256).split()

    def _signal(self, signum: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signum)

    def stop(self) -> None:
        """End the warden and everything below it."""
        self.control.close()
        self._signal(signal.SIGCONT)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def abandon(self) -> None:
        """End a warden that no longer answers."""
        self._signal(signal.SIGKILL)
        self.stop()


class _Pool:
    """Idle wardens: starting one costs as much as starting Python, so they serve one sandbox after the other."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[Warden] = []
        self.owner = os.getpid()
        self.will_close = False

    def take(self) -> Warden:
        """An idle warden, or a new one."""
        with self.lock:
            if self.owner != os.getpid():  # after a fork they still belong to the parent
                self.idle, self.owner = [], os.getpid()
            if self.idle:
                return self.idle.pop()
            if not self.will_close:
                self.will_close = True
                atexit.register(self.close)
        return Warden()

    def close(self) -> None:
        """End all idle wardens."""
        with self.lock:
            idle, self.idle = (self.idle if self.owner == os.getpid() else []), []
        for warden in idle:
            warden.stop()

    def give_back(self, warden: Warden) -> None:
        """Keep a warden that has nothing left below it."""
        with self.lock:
            if len(self.idle) < KEPT_IDLE:
                self.idle.append(warden)
                return
        warden.stop()


POOL = _Pool()
