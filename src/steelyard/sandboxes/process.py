"""Run one command below a warden: feed it, capture what it prints in flat memory, end it when its time is up."""

import errno
import fcntl
import os
import select
import signal
import termios
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from steelyard.sandboxes.base import TIMED_OUT, Captured, Command, ExecResult
from steelyard.sandboxes.capture import Capture
from steelyard.sandboxes.wardens import Used, Warden

CHUNK = 64 * 1024
PATIENCE_S = 2.0  # between SIGINT, SIGTERM and SIGKILL
LINGER_S = 0.25  # how long output is awaited from what a command left behind
LONGEST_WAIT_S = 3600.0
INTERRUPTED = 130
OVER_DISK = 128 + signal.SIGXFSZ
ENOUGH = 128 + signal.SIGXCPU
Reason = Literal["timeout", "interrupt", "disk", "enough"]
CODES: dict[Reason, int] = {"timeout": TIMED_OUT, "interrupt": INTERRUPTED, "disk": OVER_DISK, "enough": ENOUGH}


class Interrupter:
    """An event that wakes every running command at once; may be set from a signal handler."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may come while its own thread holds it
        self._ends: tuple[int, int] | None = None
        self._set = False

    def _pipe(self) -> tuple[int, int]:
        with self._lock:
            if self._ends is None:
                self._ends = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            return self._ends

    def fileno(self) -> int:
        """What becomes readable when the event is set."""
        return self._pipe()[0]

    def is_set(self) -> bool:
        """Whether commands are to end."""
        return self._set

    def set(self) -> None:
        """End all running commands; new ones end before they start."""
        with self._lock:
            if not self._set:
                self._set = True
                os.write(self._pipe()[1], b"!")

    def clear(self) -> None:
        """Let commands run again."""
        with self._lock:
            if self._set:
                self._set = False
                os.read(self._pipe()[0], 16)


INTERRUPTER = Interrupter()


def interrupt_all() -> None:
    """End every command that runs in any sandbox of this harness, politely where asked."""
    INTERRUPTER.set()


@dataclass(frozen=True, slots=True)
class Launch:
    """A command as it is really started on the host: `argv` is wrapped, `env` complete.

    With `inner`, polite signals leave out the wrapper itself, which would take the command with it. A wrapper that
    `reports` gets a pipe as file 3. `tick` is called now and then; what it returns ends the command.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    inner: bool = False
    reports: bool = False
    tick: Callable[[float], Reason | None] | None = None
    tick_s: float = 0.5


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, what it used, what its wrapper reported, and what went wrong on our side."""

    result: ExecResult
    used: Used
    report: bytes = b""
    failure: str | None = None
    started: bool = True


def run(warden: Warden, launch: Launch, command: Command) -> Ended:
    """Run a command to its end. Whatever goes wrong on the way, nothing that it started stays behind."""
    if any("\0" in word for word in (*launch.argv, *launch.env, *launch.env.values())):
        return _not_started(errno.EINVAL, f"{launch.argv[0]} with a NUL character in its arguments or environment", 0.0)
    if INTERRUPTER.is_set():
        return Ended(ExecResult(INTERRUPTED, 0.0, interrupted=True), Used())
    running = _Running(warden, launch, command)
    try:
        running.start()
        running.watch()
        return running.ended()
    except BaseException:
        if running.ident:
            warden.kill(running.ident)
        raise
    finally:
        running.close()


class _Running:
    """A command between its start and its end."""

    def __init__(self, warden: Warden, launch: Launch, command: Command) -> None:
        self.warden, self.launch, self.command = warden, launch, command
        self.ident = b""
        self.captures: dict[int, Capture] = {}
        self.fds: set[int] = set()
        self.open_streams: set[int] = set()
        self.poll = select.poll()
        self.answer: list[bytes] | None = None
        self.reason: Reason | None = None
        self.steps: list[tuple[float, int]] = []
        self.stdin, self.stdin_at, self.status, self.report = -1, 0, -1, -1
        self.began = self.finished = time.monotonic()
        self.left = Used()

    def pipe(self) -> tuple[int, int]:
        """A pipe whose ends are closed on every path out."""
        ends = os.pipe()
        self.fds.update(ends)
        return ends

    def drop(self, fd: int) -> None:
        """Close one file."""
        self.fds.discard(fd)
        os.close(fd)

    def close(self) -> None:
        """Close all files that are still open."""
        for fd in self.fds:
            os.close(fd)
        self.fds.clear()

    def start(self) -> None:
        """Make the pipes and ask the warden to start the command."""
        self.status, status = self.pipe()
        out, stdout = self.pipe()
        err, stderr = self.pipe()
        theirs = {"status": status, "stdout": stdout, "stderr": stderr}
        if self.command.stdin:
            theirs["stdin"], self.stdin = self.pipe()
            os.set_blocking(self.stdin, False)
        if self.launch.reports:
            self.report, theirs["report"] = self.pipe()
            os.set_blocking(self.report, False)
        argv = [os.fsencode(word) for word in self.launch.argv]
        env = [os.fsencode(f"{name}={value}") for name, value in self.launch.env.items()]
        self.began = time.monotonic()
        self.ident = self.warden.run(os.fsencode(self.launch.cwd), argv, env, theirs)
        for fd in theirs.values():
            self.drop(fd)
        self.out, self.err = out, err
        for fd in (out, err):
            os.set_blocking(fd, False)
            self.captures[fd] = Capture()
            self.open_streams.add(fd)
            self.poll.register(fd, select.POLLIN)
        self.poll.register(self.status, select.POLLIN)
        self.poll.register(INTERRUPTER, select.POLLIN)
        if self.stdin >= 0 and self.feed():
            self.poll.register(self.stdin, select.POLLOUT)

    def feed(self) -> bool:
        """Write what the command's stdin takes now; False when all is written or nobody reads it."""
        data = self.command.stdin
        try:
            while self.stdin_at < len(data):
                self.stdin_at += os.write(self.stdin, data[self.stdin_at : self.stdin_at + CHUNK])
        except BlockingIOError:
            return True
        except OSError:
            self.stdin_at = len(data)  # nobody reads it any more
        self.drop(self.stdin)
        self.stdin = -1
        return False

    def read(self, fd: int) -> int:
        """Take one chunk of a stream; 0 when there is none now."""
        try:
            chunk = os.read(fd, CHUNK)
        except BlockingIOError:
            return 0
        if not chunk:
            self.open_streams.discard(fd)
            self.poll.unregister(fd)
            return 0
        self.captures[fd].add(chunk)
        if fd == self.out and self.command.on_stdout is not None:
            self.command.on_stdout(chunk)
        if self.reason is None and self.answer is None and self.command.enough is not None and self.command.enough():
            self.stop("enough", time.monotonic())
        return len(chunk)

    def watch(self) -> None:
        """Serve the pipes until the command has ended and its output is in."""
        deadline = self.began + self.command.timeout_s
        ticks = self.began + self.launch.tick_s if self.launch.tick is not None else float("inf")
        while self.answer is None:
            now = time.monotonic()
            if self.reason is None:
                if now >= deadline:
                    self.stop("timeout", now)
                elif now >= ticks:
                    ticks = self.tick(now)
            while self.steps and self.steps[0][0] <= now:
                self.step()
            wake = min(deadline if self.reason is None else float("inf"), ticks, *(at for at, _ in self.steps[:1]))
            self.serve(wake - now)
        if self.reason is not None:
            self.left = self.left.plus(self.warden.kill(self.ident).used)
        until = time.monotonic() + LINGER_S
        while self.open_streams and time.monotonic() < until and self.answer[0] == b"exit":
            self.serve(until - time.monotonic())
        for fd in tuple(self.open_streams):
            self.drain(fd)

    def serve(self, wait_s: float) -> None:
        """Wait for the next event and deal with it."""
        for fd, _ in self.poll.poll(max(0.0, min(wait_s, LONGEST_WAIT_S)) * 1000):
            if fd in self.captures:
                self.read(fd)
            elif fd == self.status:
                self.answer = os.read(fd, 4096).split(b" ", 5) or [b"gone"]
                self.finished = time.monotonic()
                self.poll.unregister(fd)
            elif fd == self.stdin:
                if not self.feed():
                    self.poll.unregister(fd)
            elif fd == INTERRUPTER.fileno():
                self.poll.unregister(fd)
                if self.reason is None and self.answer is None:
                    self.stop("interrupt", time.monotonic())

    def tick(self, now: float) -> float:
        """Let the sandbox look at its command; when to look again."""
        began = time.monotonic()
        reason = self.launch.tick(now) if self.launch.tick is not None else None
        if reason is not None:
            self.stop(reason, now)
        took = time.monotonic() - began
        return began + max(self.launch.tick_s, 20 * took)

    def stop(self, reason: Reason, now: float) -> None:
        """Plan the end: at once, or politely first."""
        self.reason = reason
        gently = [(now, signal.SIGINT), (now + PATIENCE_S, signal.SIGTERM)] if self.command.polite else []
        self.steps = [*gently, (now + PATIENCE_S * len(gently), signal.SIGKILL)]

    def step(self) -> None:
        """Send the next signal of the end."""
        _, signum = self.steps.pop(0)
        if signum == signal.SIGKILL:
            self.left = self.left.plus(self.warden.kill(self.ident).used)
        else:
            self.warden.signal(self.ident, signum, self.launch.inner)

    def drain(self, fd: int) -> None:
        """Take what stands in the pipe right now, and no more: what still writes may never stop."""
        waiting = int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), "little")
        while waiting > 0 and fd in self.open_streams:
            got = self.read(fd)
            waiting = waiting - got if got else 0

    def ended(self) -> Ended:
        """The result."""
        answer = self.answer or [b"gone"]
        out, err = self.captures[self.out].done(), self.captures[self.err].done()
        duration = self.finished - self.began
        if answer[0] == b"error":
            return _not_started(int(answer[1]), os.fsdecode(b" ".join(answer[2:])), duration)
        if answer[0] != b"exit":
            failure = "the process that watches over the sandbox is gone"
            return Ended(ExecResult(1, duration, out, err), Used(), failure=failure)
        code = os.waitstatus_to_exitcode(int(answer[1]))
        code = 128 - code if code < 0 else code
        if self.reason is not None:
            code = CODES[self.reason]
        used = Used(float(answer[2]), int(answer[3])).plus(Used(float(answer[4]), int(answer[5]))).plus(self.left)
        result = ExecResult(
            exit_code=code,
            duration_s=duration,
            stdout=out,
            stderr=err,
            timed_out=self.reason == "timeout",
            interrupted=self.reason == "interrupt",
            over_disk=self.reason == "disk",
            enough=self.reason == "enough",
        )
        return Ended(result, used, self.reported())

    def reported(self) -> bytes:
        """What the wrapper wrote to its pipe."""
        if self.report < 0:
            return b""
        try:
            return os.read(self.report, 4096)
        except BlockingIOError:
            return b""


def _not_started(number: int, name: str, duration: float) -> Ended:
    """What a shell says of a program that can't be started: 127 when it is not there, 126 when it may not run."""
    code = 127 if number in (errno.ENOENT, errno.ENOTDIR) else 126
    text = f"cannot start {name}: {os.strerror(number)}\n".encode("utf-8", "surrogateescape")
    return Ended(ExecResult(code, duration, stderr=Captured(text, b"", len(text))), Used(), started=False)
