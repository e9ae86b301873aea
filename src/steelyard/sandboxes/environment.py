"""The environment of sandboxed commands: clean, private, and nothing of the harness's own."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def search_path(path: str | None = None) -> str:
    """The user's PATH without relative entries; last, where this Python is, so that there always is a `python`."""
    given = os.environ.get("PATH", os.defpath) if path is None else path
    absolute = [entry for entry in given.split(os.pathsep) if entry.startswith("/")]
    return os.pathsep.join(dict.fromkeys([*absolute, str(Path(sys.executable).parent)]))


def toolchain_homes(home: Path | None = None) -> dict[str, str]:
    """Where toolchains are that would be looked for in the home, which is a private one in a sandbox."""
    rustup = (Path.home() if home is None else home) / ".rustup"
    return {"RUSTUP_HOME": str(rustup)} if rustup.is_dir() else {}


def clean_environment(path: str, home: str, tmp: str, *more: Mapping[str, str]) -> dict[str, str]:
    """PATH, HOME, TMPDIR and LANG, then what the sandbox and the command add, the last one winning."""
    env = {"PATH": path, "HOME": home, "TMPDIR": tmp, "LANG": "C.UTF-8"}
    for addition in more:
        env.update(addition)
    return env
