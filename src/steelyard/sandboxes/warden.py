"""The warden: a tiny program that starts a sandbox's commands, adopts what they orphan, and kills all of it.

It runs as `python -I -S warden.py`, one process per open sandbox, with its end of a socket pair as file descriptor 3.
It is a child subreaper (prctl(2)): whatever a command starts stays below the warden, also after a double fork, setsid
or a cleared environment, so a process belongs to exactly one sandbox and nothing else is ever signalled. It owns all
its children, so that it may reap them without looking: no zombie stays. When the harness dies, its socket ends, and
the warden kills everything and goes too.

A request is four bytes of length and that many bytes: fields between NULs, the first one naming what to do. Open
files come with it; answers go to the pipe among them. This file must import nothing beyond the standard library.
"""

import os
import select
import signal
import socket
import struct
import sys
import time
from contextlib import suppress

CONTROL = 3
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
KILL_FOR_S = 30.0
SETTLE_S = 5.0
DEFAULTS = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores these two, and an ignored signal survives exec
Entry = tuple[int, bytes, int, int, bytes]  # pid, state, parent, session, start time


class Warden:
    """The state of one warden: its commands by id, and what orphans used since that was last asked."""

    def __init__(self, control: socket.socket, wake: int) -> None:
        self.control, self.wake = control, wake
        self.commands: dict[bytes, tuple[int, int]] = {}
        self.ids: dict[int, bytes] = {}
        self.orphan_cpu_s = 0.0
        self.orphan_rss_kb = 0
        self.devnull = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.me = os.getpid()

    def serve(self) -> None:
        """Answer requests and reap children until the harness is gone."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wake, select.POLLIN)
        while True:
            for ready, _ in poll.poll():
                if ready == self.wake:
                    self.await_child(0)
                    self.reap()
                elif not self.request():
                    self.kill(b"*")
                    return

    def request(self) -> bool:
        """Read one request and do it; False when the harness has closed its end."""
        head, ancillary, _, _ = self.control.recvmsg(4, 256, socket.MSG_CMSG_CLOEXEC)
        fds = [fd for _, _, data in ancillary for (fd,) in struct.iter_unpack("i", data[: len(data) // 4 * 4])]
        body = bytearray()
        if len(head) == 4:
            (length,) = struct.unpack("!I", head)
            while len(body) < length:
                chunk = self.control.recv(length - len(body))
                if not chunk:
                    return False
                body += chunk
        else:
            return False
        what, ident, *fields = bytes(body).split(b"\0")
        if what == b"run":
            self.start(ident, fields, fds)
        elif what == b"signal":
            self.polite(ident, int(fields[0]), fields[1] == b"inner")
        else:
            if what == b"settle":
                self.settle()
            killed, left = self.kill(ident) if what == b"kill" else (0, 0)
            self.answer(fds[0], b"%d %d %s" % (killed, left, self.orphans()))
        for fd in fds[1:] if what == b"run" else fds:
            os.close(fd)
        return True

    def start(self, ident: bytes, fields: list[bytes], fds: list[int]) -> None:
        """Start a command: `fds` are the status pipe, stdout, stderr, and stdin or 3, or both, as `fields` tell."""
        cwd, count, given = fields[0], int(fields[1]), fields[2]
        argv, env = fields[3 : 3 + count], dict(pair.split(b"=", 1) for pair in fields[3 + count :])
        rest = fds[3:]
        stdin = rest.pop(0) if b"i" in given else self.devnull
        # What comes with a request is numbered 4 or higher here, so that no file is overwritten before it is used.
        actions = [(os.POSIX_SPAWN_DUP2, fd, at) for at, fd in enumerate((stdin, fds[1], fds[2], *rest))]
        try:
            os.chdir(cwd)
            pid = self.spawn(argv, env, actions)
        except OSError as error:
            name = os.fsencode(error.filename) if error.filename else b""
            self.answer(fds[0], b"error %d %s" % (error.errno or 0, name.replace(b"\n", b"?")))
            os.close(fds[0])
            return
        prefer_as_victim(pid)
        self.commands[ident] = (pid, fds[0])
        self.ids[pid] = ident

    def spawn(self, argv: list[bytes], env: dict[bytes, bytes], actions: list[tuple[int, int, int]]) -> int:
        """Start a program in its own session, found on the PATH that it is given itself."""
        names = [argv[0]]
        if b"/" not in argv[0]:
            names = [directory + b"/" + argv[0] for directory in env.get(b"PATH", b"").split(b":") if directory]
        denied: OSError | None = None
        for name in names:
            try:
                return os.posix_spawn(
                    name, argv, env, file_actions=actions, setsid=True, setsigmask=[], setsigdef=DEFAULTS
                )
            except (FileNotFoundError, NotADirectoryError):
                continue
            except PermissionError as error:
                denied = error
        raise denied or FileNotFoundError(2, "not found", argv[0])

    def reap(self) -> None:
        """Collect every child that ended: commands are answered, orphans are added up."""
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            cpu_s, rss_kb = used.ru_utime + used.ru_stime, used.ru_maxrss
            ident = self.ids.pop(pid, None)
            if ident is None:
                self.orphan_cpu_s += cpu_s
                self.orphan_rss_kb = max(self.orphan_rss_kb, rss_kb)
                continue
            _, answer = self.commands.pop(ident)
            self.answer(answer, b"exit %d %.6f %d %s" % (status, cpu_s, rss_kb, self.orphans()))
            os.close(answer)

    def orphans(self) -> bytes:
        """What orphans used since the last answer."""
        used = b"%.6f %d" % (self.orphan_cpu_s, self.orphan_rss_kb)
        self.orphan_cpu_s, self.orphan_rss_kb = 0.0, 0
        return used

    def answer(self, fd: int, text: bytes) -> None:
        """Answer, unless nobody listens any more."""
        with suppress(OSError):
            os.write(fd, text)

    def polite(self, ident: bytes, signum: int, inner: bool) -> None:
        """Signal a command and what descends from it; with `inner`, not the wrapper that the command itself is."""
        command = self.commands.get(ident)
        if command is not None:
            for entry in family(command[0], scan(), set()):
                if not (inner and entry[0] == command[0]):
                    send(entry, signum)

    def kill(self, ident: bytes) -> tuple[int, int]:
        """Kill everything below the warden ("*"), or all but other running commands; how many died, how many stay."""
        killed: set[tuple[int, bytes]] = set()
        frozen: set[tuple[int, bytes]] = set()
        until = time.monotonic() + KILL_FOR_S
        while True:
            self.reap()
            if not has_children():
                return len(killed), 0
            table = scan()
            keep = set() if ident == b"*" else self.others(ident, table)
            victims = family(self.me, table, keep)[1:]
            if not victims:
                return len(killed), 0
            if time.monotonic() > until:
                return len(killed), len(victims)
            living = {(entry[0], entry[4]): entry for entry in victims if entry[1] not in b"ZX"}
            new = [entry for key, entry in living.items() if key not in frozen]
            for entry in new:
                send(entry, signal.SIGSTOP)  # what is frozen forks no more, so the next look finds the rest
            frozen |= living.keys()
            if new and len(frozen) < 10_000:
                continue
            for entry in living.values():
                send(entry, signal.SIGKILL)
            killed |= living.keys()
            self.await_child(0.02)

    def settle(self) -> None:
        """Wait for what is about to end by itself: a wrapper may end a moment before what it wrapped."""
        until = time.monotonic() + SETTLE_S
        while time.monotonic() < until:
            self.reap()
            if count_children(self.me) <= len(self.commands):
                return
            self.await_child(0.05)

    def await_child(self, wait_s: float) -> None:
        """Sleep until a child ended, but not for long."""
        if select.select([self.wake], [], [], wait_s)[0]:
            os.read(self.wake, 512)

    def others(self, ident: bytes, table: dict[int, Entry]) -> set[int]:
        """The processes of other commands that still run, with the orphans of their sessions."""
        roots = {pid for name, (pid, _) in self.commands.items() if name != ident}
        kept: set[int] = set()
        for pid, entry in table.items():
            if pid in roots or entry[3] in roots:
                kept |= {child[0] for child in family(pid, table, set())}
        return kept


def prefer_as_victim(pid: int) -> None:
    """When memory runs out, the command goes before the warden and the harness do."""
    try:
        fd = os.open(f"/proc/{pid}/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return
    with suppress(OSError):
        os.write(fd, b"500")
    os.close(fd)


def has_children() -> bool:
    """Whether this process has any child at all, living or not yet reaped."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def count_children(pid: int) -> int:
    """How many children a process with one thread has."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:  # noqa: PTH123  # no pathlib here
            return len(file.read().split())
    except OSError:  # a kernel without that file
        return sum(entry[2] == pid for entry in scan().values())


def look(pid: int) -> Entry | None:
    """A process as /proc tells it, or None when it is gone."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fields = os.read(fd, 1024).rpartition(b") ")[2].split()
    except OSError:
        return None
    finally:
        os.close(fd)
    return (pid, fields[0], int(fields[1]), int(fields[3]), fields[19]) if len(fields) > 19 else None


def scan() -> dict[int, Entry]:
    """Every process of the machine that can be seen."""
    entries = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208  # no pathlib here
    return {entry[0]: entry for entry in entries if entry is not None}


def family(root: int, table: dict[int, Entry], keep: set[int]) -> list[Entry]:
    """A process and all that descend from it, parents first, without those to keep."""
    children: dict[int, list[Entry]] = {}
    for entry in table.values():
        children.setdefault(entry[2], []).append(entry)
    found = [table[root]] if root in table else []
    for entry in found:
        found += [child for child in children.get(entry[0], ()) if child[0] not in keep]
    return found


def send(entry: Entry, signum: int) -> None:
    """Signal exactly that process: not another one that was given its number meanwhile."""
    try:
        handle = os.pidfd_open(entry[0])
    except OSError:
        return
    with suppress(OSError):
        now = look(entry[0])
        if now is not None and now[4] == entry[4]:
            signal.pidfd_send_signal(handle, signum)
    os.close(handle)


def main() -> None:
    """Become a subreaper, then serve."""
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit(1)
    os.closerange(CONTROL + 1, 1 << 20)
    os.set_inheritable(CONTROL, False)
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Warden(socket.socket(fileno=CONTROL), wake_read).serve()


if __name__ == "__main__":
    main()
