"""What every sandbox does: run commands, read and write files, kill everything, say what was consumed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.domain.suite import Limits
from steelyard.domain.usage import Resources

TIMED_OUT = 124
HEAD = TAIL = 128 * 1024


@dataclass(frozen=True, slots=True)
class Captured:
    """A stream's head and tail; what stood between them was counted and dropped."""

    head: bytes = b""
    tail: bytes = b""
    total: int = 0

    @property
    def dropped(self) -> int:
        """How many bytes are missing between head and tail."""
        return self.total - len(self.head) - len(self.tail)

    def text(self) -> str:
        """The stream as text, with a line that counts what was left out."""
        gap = f"\n… {self.dropped} bytes left out …\n".encode() if self.dropped > 0 else b""
        return (self.head + gap + self.tail).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Command:
    """What to run. A shell string goes in as ("/bin/sh", "-c", text); nothing an agent wrote ever becomes one.

    `cwd` is a path inside the sandbox, by default the tree. `env` is added to the sandbox's own environment.
    `on_stdout` sees every chunk as it arrives, also those that `Captured` drops; `enough` is asked after each of them,
    and True ends the command. With `polite`, a command that has to end gets SIGINT, then SIGTERM, then SIGKILL, so that
    an agent can still write its last line.
    """

    argv: tuple[str, ...]
    timeout_s: float
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    on_stdout: Callable[[bytes], None] | None = None
    enough: Callable[[], bool] | None = None
    polite: bool = False


def shell(text: str, timeout_s: float, **more: str) -> Command:
    """A user's shell command."""
    return Command(("/bin/sh", "-c", text), timeout_s, **more)  # type: ignore[arg-type]  # only cwd is ever given so


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended. Signal n is exit code 128 + n; a time-out is 124. `interrupted`: the harness stopped it.

    `over_disk`: it was ended because the sandbox's files had outgrown `limits.disk_mb`; `enough`: because the command's
    own `enough` said so.
    """

    exit_code: int
    duration_s: float
    stdout: Captured = Captured()
    stderr: Captured = Captured()
    timed_out: bool = False
    out_of_memory: bool = False
    interrupted: bool = False
    over_disk: bool = False
    enough: bool = False

    def tail(self, limit: int = 4000) -> str:
        """The end of what it printed, stdout then stderr, for people."""
        text = "\n".join(part.rstrip() for part in (self.stdout.text(), self.stderr.text()) if part.strip())
        return text if len(text) <= limit else "…" + text[-limit:]


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a sandbox is made of. `tree` and `scratch` are host directories that belong to this run alone."""

    run_id: str
    tree: Path
    scratch: Path
    limits: Limits = Limits()
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    dockerfile: str | None = None


class Sandbox(ABC):
    """An open sandbox. `tree`, `home` and `tmp` are paths as seen inside; all methods may be called from any thread.

    `notes` says what was asked for and can't be had on this machine, a limit for example. `image` is what the sandbox
    was really made of, by name and content, where it is made of one.
    """

    tree: str
    home: str
    tmp: str
    notes: tuple[str, ...] = ()
    image: str | None = None

    @abstractmethod
    def exec(self, command: Command) -> ExecResult:
        """Run a command to its end; nothing it started is left running when its time ran out."""

    @abstractmethod
    def read(self, path: str, limit: int = 16 * 1024 * 1024) -> bytes | None:
        """A regular file's first bytes, by absolute inside path or relative to the tree; None when there is none.

        Symlinks are never followed out of the sandbox's own directories.
        """

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write a file, making its directories, by absolute inside path or relative to the tree."""

    @abstractmethod
    def kill_all(self) -> int:
        """Kill every process that was started in here, also those that hid in their own session; say how many."""

    @abstractmethod
    def meter(self) -> Resources:
        """What was consumed so far; unknown parts are None."""

    @abstractmethod
    def collect_tree(self) -> Path:
        """A host directory that holds the tree as it is now."""

    def push(self, paths: list[str]) -> None:
        """Bring these paths of the collected tree into the sandbox; nothing to do where that is the sandbox's own."""
        del paths

    @abstractmethod
    def close(self) -> None:
        """Kill everything and leave nothing behind. Safe to call twice."""


class SandboxProvider(ABC):
    """Makes sandboxes of one type. Cheap to make; `check` may start processes. `note` is for the user to know."""

    type: str
    isolates: bool
    note: str | None = None

    @abstractmethod
    def check(self) -> str | None:
        """Why this sandbox does not work here and how to get it, or None when it works."""

    @abstractmethod
    def open(self, spec: SandboxSpec) -> Sandbox:
        """A new sandbox; raises `InfraError("sandbox_error", …)`."""

    def clean(self) -> int:
        """Remove what killed harnesses left behind; say how many things."""
        return 0
