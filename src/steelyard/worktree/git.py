"""Real git, started so that nothing in a tree, a repository or a home directory can bend what it does."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from steelyard.errors import InputError

TIMEOUT_S = 600
_SAFE = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.excludesFile=/dev/null",
    "-c",
    "safe.directory=*",
    "-c",
    "gc.auto=0",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "advice.detachedHead=false",
)


class GitError(Exception):
    """Git said no; `str` is the line that says why: the first fatal one, else the last."""


def sealed_env() -> dict[str, str]:
    """An environment in which git reads no system or user configuration and may reach no other repository."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "",
    }


def user_env() -> dict[str, str]:
    """The user's own environment, to reach a repository that needs their credentials; never `ext::` commands."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_SSH_COMMAND"
    }
    return env | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}


@cache
def _program() -> str:
    """Where git is: looked for once, because every folder of the PATH before it costs a try at each start."""
    return shutil.which("git") or "git"


def words(*args: str) -> list[str]:
    """The whole command line of a git command."""
    return [_program(), "--no-pager", *_SAFE, *args]


def git(
    *args: str,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float = TIMEOUT_S,
) -> bytes:
    """Run git and return its stdout; raises `GitError` when it fails, `TimeoutExpired` when it does not end."""
    try:
        done = subprocess.run(
            words(*args),
            cwd=cwd,
            env=sealed_env() if env is None else env,
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        if cwd is not None and not cwd.exists():
            raise GitError(f"{cwd} does not exist") from error
        raise InputError("git is not installed; install git 2.30 or newer and run again") from error
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        fatal = [line for line in lines if line.startswith("fatal: ")]
        raise GitError((fatal or lines[-1:] or [f"git ended with {done.returncode}"])[0])
    return done.stdout
