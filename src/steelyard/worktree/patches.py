"""How git is asked for a patch; processes that stay write one after another, as starting git costs more than most."""

import os
import select
import subprocess
import threading
import time
from pathlib import Path

from steelyard.worktree.git import git, sealed_env, words

PATCH_TIMEOUT_S = 300
MOST = 500
"""After so many patches a process is replaced: git keeps a little of each in memory."""
_DIFF = (
    "diff-tree",
    "-r",
    "-p",
    "--binary",
    "--full-index",
    "-M",
    "-l400",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-indent-heuristic",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
# Git repeats a line that names no tree. No line of a patch is `end`: those of a hunk have a sign in front, those of a
# binary patch are 1 + 5 n characters long, and the others are longer.
_END = b"end\n"
_CHUNK = 1 << 20

Trees = tuple[str, str]


def one_patch(git_dir: Path, trees: Trees, as_text: bool = False) -> bytes:
    """The difference of two trees, by a git process of its own."""
    more = ("--text",) if as_text else ()
    return git("--git-dir", str(git_dir), *_DIFF, *more, *trees, timeout_s=PATCH_TIMEOUT_S)


def make_bare(git_dir: Path) -> None:
    """A bare git directory without its objects."""
    (git_dir / "refs").mkdir(parents=True, exist_ok=True, mode=0o700)
    (git_dir / "HEAD").write_bytes(b"ref: refs/heads/none\n")
    (git_dir / "config").write_bytes(b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n")


class Patches:
    """Git, waiting in a directory that only the harness may enter; threads that share it have a process each."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._idle: list[_Writer] = []
        self._started = 0

    def write(self, git_dir: Path, trees: Trees) -> bytes:
        """The difference of two trees; should a process that stays fail, one of its own says what is wrong."""
        try:
            writer = self._take(git_dir)
        except OSError:
            return one_patch(git_dir, trees)
        patch = None
        try:
            patch = writer.write(trees)
        finally:
            if patch is None or writer.left == 0:
                writer.end()
            else:
                self._idle.append(writer)
        return one_patch(git_dir, trees) if patch is None else patch

    def _take(self, git_dir: Path) -> "_Writer":
        with self._lock:
            writer = self._idle.pop() if self._idle else None
            self._started += writer is None
            number = self._started
        if writer is None:
            return _Writer(self._place / str(number), git_dir)
        writer.turn_to(git_dir)
        return writer

    def close(self) -> None:
        """End the processes."""
        while self._idle:
            self._idle.pop().end()


class _Writer:
    """A git process in a directory whose `objects` is a link to those in question."""

    def __init__(self, place: Path, git_dir: Path) -> None:
        self.left = MOST
        self._link, self._next = f"{place}/objects", f"{place}/next"
        make_bare(place)
        self.turn_to(git_dir)
        self._process = subprocess.Popen(
            words("--git-dir", str(place), *_DIFF, "--stdin"),
            env=sealed_env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            process_group=0,  # Ctrl-C is for the harness, which ends this when it has what it needs
        )
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018  # pipes
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._output = select.poll()
        self._output.register(self._stdout, select.POLLIN)

    def turn_to(self, git_dir: Path) -> None:
        """Read the objects of another git directory from now on; an object's name says what it is wherever it is."""
        os.symlink(f"{git_dir}/objects", self._next)  # noqa: PTH211  # plain strings: this runs for every run
        os.rename(self._next, self._link)  # noqa: PTH104

    def write(self, trees: Trees) -> bytes | None:
        """The patch, None when git could not write it; raises `TimeoutExpired` when it takes too long."""
        self.left -= 1
        asked = f"{trees[0]} {trees[1]}\n".encode()
        parts: list[bytes] = []
        tail = b"\n"
        deadline = time.monotonic() + PATCH_TIMEOUT_S
        try:
            os.write(self._stdin, asked + _END)
            while not tail.endswith(b"\n" + _END):
                if not self._output.poll(max(0, deadline - time.monotonic()) * 1000):
                    raise subprocess.TimeoutExpired("git diff-tree", PATCH_TIMEOUT_S)
                chunk = os.read(self._stdout, _CHUNK)
                if not chunk:
                    return None
                parts.append(chunk)
                tail = (tail + chunk)[-len(_END) - 1 :]
        except BrokenPipeError:
            return None
        answer = b"".join(parts)
        return answer[len(asked) : -len(_END)] if answer.startswith(asked) else None

    def end(self) -> None:
        """Kill the process, which has nothing to lose."""
        self._process.kill()
        self._process.communicate()
