"""What a bubblewrap sandbox shows of the machine: the system, and the programs on the PATH, without anybody's home."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/snap", "/etc")
# Root without capabilities still owns these, so they are covered rather than left to their modes.
SECRETS = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager",
    "/etc/environment",
)
# What stands beside a bin directory and is needed to run what is in it; its other neighbours may be private.
BESIDE = (
    "lib",
    "lib64",
    "libexec",
    "include",
    "pyvenv.cfg",
    "shims",
    "versions",
    "version",
    "plugins",
    "pyenv.d",
    "toolchains",
    "installs",
    "node_modules",
)
# What stands in the root of an installation that holds nothing private; each bind costs time, so one is better.
WHOLE = ("pyvenv.cfg", "conda-meta", "shims")
MOST_PROGRAMS = 5000


def system_binds() -> list[str]:
    """The arguments that show the system read-only: links as links, directories as binds, secrets covered."""
    shown: list[str] = []
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            shown += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            shown += ["--ro-bind", name, name]
    names = Path("/etc/resolv.conf").resolve()
    if names.is_file() and not names.is_relative_to("/etc"):
        shown += ["--ro-bind", str(names), str(names)]
    return shown


def covers() -> list[str]:
    """The arguments that hide what is secret in the system."""
    hidden: list[str] = []
    for name in SECRETS:
        path = Path(name)
        if path.is_symlink() or not os.access(path, os.R_OK):
            continue
        if path.is_dir():
            hidden += ["--tmpfs", name, "--remount-ro", name]
        elif path.exists():
            hidden += ["--ro-bind", "/dev/null", name]
    return hidden


def program_binds(path: str, homes: Iterable[Path]) -> list[Path]:
    """What programs on a PATH need beyond the system: their directories, what stands beside, where links lead."""
    forbidden = {Path("/"), *(ancestor for home in homes for ancestor in (home, *home.parents))}
    found: dict[Path, None] = {}
    waiting = [Path(entry) for entry in path.split(os.pathsep)]
    seen: set[Path] = set()
    for directory in waiting:
        if directory in seen or _is_system(directory) or not directory.is_dir():
            continue
        seen.add(directory)
        waiting.append(directory.resolve())
        found.update((needed, None) for needed in _needed(directory, forbidden) if needed not in forbidden)
        for target in _targets(directory):
            if target.parent.name in ("bin", "sbin", ".bin"):
                waiting.append(target.parent)
            elif target not in forbidden:
                found[target] = None
    return _outermost(found)


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(name) for name in SYSTEM)


def _needed(directory: Path, forbidden: set[Path]) -> Iterator[Path]:
    """A directory of programs, with what they find by a path relative to it."""
    yield directory
    if directory.parent not in forbidden and any((directory.parent / name).exists() for name in WHOLE):
        yield directory.parent
    elif directory.name in ("bin", "sbin", "shims"):
        yield from (path for name in BESIDE if (path := directory.parent / name).exists())
        yield from (path for name in ("bin", "sbin") if (path := directory.parent / name).is_dir())
    if "node_modules" in directory.parts:
        yield Path(*directory.parts[: directory.parts.index("node_modules") + 1])


def _targets(directory: Path) -> Iterator[Path]:
    """Where the links in a directory lead, link by link: a link to a link needs both."""
    try:
        entries = sorted(directory.iterdir())[:MOST_PROGRAMS]
    except OSError:
        return
    for entry in entries:
        here = entry
        for _ in range(20):
            if not here.is_symlink():
                break
            here = Path(os.path.normpath(here.parent / here.readlink()))
            if here.parent == directory or _is_system(here) or not here.exists() or here.is_dir():
                continue
            yield here


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Those that are not inside another one, shortest first."""
    kept: list[Path] = []
    for path in sorted(paths, key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return kept
