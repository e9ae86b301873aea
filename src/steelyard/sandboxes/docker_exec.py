"""Run one command in a container: feed it, capture what it prints in flat memory, end it when its time is up."""

import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from steelyard.errors import InfraError
from steelyard.sandboxes.base import Captured, Command, ExecResult
from steelyard.sandboxes.capture import Capture
from steelyard.sandboxes.docker_container import Container
from steelyard.sandboxes.docker_engine import EngineError, engine_trouble
from steelyard.sandboxes.process import (
    CHUNK,
    CODES,
    INTERRUPTED,
    INTERRUPTER,
    LINGER_S,
    PATIENCE_S,
    Reason,
)

LOOK_S = 0.5  # how often a command is looked at whose output is still open
FIRST_LOOK_S, SLOWEST_LOOK_S = 0.002, 0.25  # and one whose output has ended
TICK_S = 0.5
AGAIN_S = 1.0
HEADER = 8
STDOUT, STDERR = 1, 2
# From a directory that is surely there; the shell's own exit codes say what could not be started.
WRAPPER = 'cd -- "$1" || exit 127; unset OLDPWD; shift; exec "$@"'


class Frames:
    """Takes the engine's stream apart into stdout and stderr, in whatever pieces it comes."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._stream, self._left = 0, 0

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The pieces in some more bytes."""
        view = memoryview(data)
        while view:
            if self._left:
                piece, view = view[: self._left], view[self._left :]
                self._left -= len(piece)
                yield self._stream, bytes(piece)
                continue
            need = HEADER - len(self._head)
            self._head += view[:need]
            view = view[need:]
            if len(self._head) == HEADER:
                self._stream, self._left = self._head[0], int.from_bytes(self._head[4:], "big")
                self._head.clear()


def run(
    container: Container, command: Command, env: dict[str, str], tick: Callable[[], Reason | None] | None
) -> ExecResult:
    """Run a command to its end; `env` is complete. Whatever goes wrong, it is not left running."""
    words = (*command.argv, *env, *env.values(), command.cwd or "")
    if not command.argv or any("\0" in word for word in words):
        text = b"cannot start a command with a NUL character in its arguments or environment\n"
        return ExecResult(126, 0.0, stderr=Captured(text, b"", len(text)))
    if INTERRUPTER.is_set():
        return ExecResult(INTERRUPTED, 0.0, interrupted=True)
    running = _Running(container, command, tick)
    with engine_trouble("running a command in the container"):
        try:
            running.start(env)
            running.watch()
            return running.ended()
        except BaseException:
            with suppress(InfraError, EngineError):
                container.kill(running.ident)
            raise
        finally:
            running.close()


class _Running:
    """A command between its start and its end."""

    def __init__(self, container: Container, command: Command, tick: Callable[[], Reason | None] | None) -> None:
        self.container, self.command, self.tick = container, command, tick
        self.ident = ""
        self.sock: socket.socket | None = None
        self.frames = Frames()
        self.captures = {STDOUT: Capture(), STDERR: Capture()}
        self.stdin = memoryview(command.stdin)
        self.reason: Reason | None = None
        self.steps: list[tuple[float, str]] = []
        self.told: dict[str, Any] | None = None
        self.poll = select.poll()
        self.began = self.finished = time.monotonic()

    def start(self, env: dict[str, str]) -> None:
        """Have the engine start the command, with its streams on one connection."""
        where = self.command.cwd or "/"
        body = {
            "AttachStdin": bool(self.stdin),
            "AttachStdout": True,
            "AttachStderr": True,
            "Tty": False,
            "User": self.container.user,
            "Env": [f"{name}={value}" for name, value in env.items()],
            "Cmd": ["/bin/sh", "-c", WRAPPER, "sh", where, *self.command.argv],
        }
        engine = self.container.engine
        self.ident = engine.ask("POST", f"/containers/{self.container.ident}/exec", body=body)["Id"]
        self.container.running.add(self.ident)
        self.began = time.monotonic()
        self.sock, rest = engine.hijack(f"/exec/{self.ident}/start", {"Detach": False, "Tty": False})
        self.sock.setblocking(False)
        self.take(rest)
        self.poll.register(self.sock, select.POLLIN | (select.POLLOUT if self.stdin else 0))
        self.poll.register(INTERRUPTER, select.POLLIN)

    def close(self) -> None:
        """Let the connection go."""
        self.container.running.discard(self.ident)
        self.hang_up()

    def hang_up(self) -> None:
        """The output has ended."""
        if self.sock is not None:
            with suppress(KeyError):
                self.poll.unregister(self.sock)
            self.sock.close()
            self.sock = None

    def take(self, data: bytes) -> None:
        """Keep what has arrived, by stream."""
        for stream, piece in self.frames.feed(data):
            self.captures[STDERR if stream == STDERR else STDOUT].add(piece)
            if stream != STDERR and self.command.on_stdout is not None:
                self.command.on_stdout(piece)
        if self.reason is None and self.told is None and self.command.enough is not None and self.command.enough():
            self.stop("enough", time.monotonic())

    def feed(self) -> None:
        """Write what the command's stdin takes now; close it when all is written or nobody reads it."""
        assert self.sock is not None  # noqa: S101  # only called for an event on it
        with suppress(BlockingIOError):
            try:
                while self.stdin:
                    self.stdin = self.stdin[self.sock.send(self.stdin[:CHUNK]) :]
            except BlockingIOError:
                return
            except OSError:
                self.stdin = memoryview(b"")
        self.poll.modify(self.sock, select.POLLIN)
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)

    def watch(self) -> None:
        """Serve the connection until the command has ended and its output is in."""
        deadline = self.began + self.command.timeout_s
        ticks = self.began + TICK_S if self.tick is not None else float("inf")
        pause = FIRST_LOOK_S
        looks = self.began + LOOK_S
        while self.told is None:
            now = time.monotonic()
            if self.reason is None and now >= deadline:
                self.stop("timeout", now)
            elif self.reason is None and now >= ticks:
                ticks = self.have_ticked(now)
            while self.steps and self.steps[0][0] <= now:
                self.step()
            if now >= looks:
                self.look()
                pause = LOOK_S if self.sock is not None else min(SLOWEST_LOOK_S, pause * 1.5)
                looks = time.monotonic() + pause
            planned = [at for at, _ in self.steps[:1]] + ([deadline, ticks] if self.reason is None else [])
            open_before = self.sock is not None
            if self.told is None:
                self.serve(min([looks, *planned]) - now)
            if open_before and self.sock is None:
                looks, pause = time.monotonic(), FIRST_LOOK_S
        self.finished = time.monotonic()
        if self.reason is not None:
            self.container.kill(self.ident)
        until = time.monotonic() + LINGER_S
        while self.sock is not None and time.monotonic() < until:
            self.serve(until - time.monotonic())

    def look(self) -> None:
        """Ask the engine whether the command has ended."""
        told = self.container.look(self.ident)
        if not told.get("Running") and told.get("ExitCode") is not None:
            self.told = told

    def serve(self, wait_s: float) -> None:
        """Wait for the next event and deal with it."""
        for fd, event in self.poll.poll(max(0.0, min(wait_s, LOOK_S)) * 1000):
            if fd == INTERRUPTER.fileno():
                self.poll.unregister(fd)
                if self.reason is None and self.told is None:
                    self.stop("interrupt", time.monotonic())
                continue
            if self.sock is None:
                continue
            if event & select.POLLOUT:
                self.feed()
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                self.receive()

    def receive(self) -> None:
        """Take one chunk of output."""
        assert self.sock is not None  # noqa: S101  # only called for an event on it
        try:
            data = self.sock.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.take(data)
        else:
            self.hang_up()

    def have_ticked(self, now: float) -> float:
        """Let the sandbox look at its files; when to look again."""
        began = time.monotonic()
        reason = self.tick() if self.tick is not None else None
        if reason is not None:
            self.stop(reason, now)
        return began + max(TICK_S, 20 * (time.monotonic() - began))

    def stop(self, reason: Reason, now: float) -> None:
        """Plan the end: at once, or politely first."""
        self.reason = reason
        gently = [(now, "INT"), (now + PATIENCE_S, "TERM")] if self.command.polite else []
        self.steps = [*gently, (now + PATIENCE_S * len(gently), "KILL")]

    def step(self) -> None:
        """Send the next signal of the end."""
        _, name = self.steps.pop(0)
        if name == "KILL":
            self.container.kill(self.ident)
            self.steps.append((time.monotonic() + AGAIN_S, name))  # the engine may only now be starting it
        else:
            self.container.ask_to_end(self.ident, name)

    def ended(self) -> ExecResult:
        """The result."""
        assert self.told is not None  # noqa: S101  # watched to its end
        code = int(self.told["ExitCode"])
        if self.reason is not None:
            code = CODES[self.reason]
        return ExecResult(
            exit_code=code if code >= 0 else 128 + signal.SIGKILL,
            duration_s=self.finished - self.began,
            stdout=self.captures[STDOUT].done(),
            stderr=self.captures[STDERR].done(),
            timed_out=self.reason == "timeout",
            interrupted=self.reason == "interrupt",
            over_disk=self.reason == "disk",
            enough=self.reason == "enough",
        )
