"""Changes the tree inside a sandbox for a while and puts everything back: for scorers that grade another tree.

It works in place, because what a set-up installed (an editable package, a build directory) names the tree by its path.
What stands there is moved aside inside the sandbox, not copied through the harness, so links, modes and large files
come back as they were.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.domain.evidence import Evidence
from steelyard.errors import InfraError
from steelyard.sandboxes.base import Command, ExecResult, Sandbox

HEAD = 64 * 1024 * 1024
"""`Evidence.before` returns no more than this of a file."""
BATCH = 200
SECONDS = 300.0
# No script follows a link on the way to a path: one that the agent planted would lead it out of the tree.
_WAY = """
tree=$1; shift
way() {
  rest=$1; at=$tree
  case $rest in */*) rest=${rest%/*} ;; *) return 0 ;; esac
  while [ -n "$rest" ]; do
    at=$at/${rest%%/*}
    [ -L "$at" ] && return 1
    case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac
  done
}
"""
# A file that comes back is touched, so that a build sees that it is another one.
OUT = """
while [ $# -gt 1 ]; do
  if way "$1" && { [ -e "$tree/$1" ] || [ -L "$tree/$1" ]; }; then mv -- "$tree/$1" "$2" || exit 1; fi
  shift 2
done
"""
BACK = """
while [ $# -gt 1 ]; do
  to=$tree/$2
  if way "$2" && { [ -e "$1" ] || [ -L "$1" ]; }; then
    mkdir -p -- "${to%/*}" && rm -rf -- "$to" && mv -- "$1" "$to" || exit 1
    [ -L "$to" ] || touch -c -- "$to" || exit 1
  fi
  shift 2
done
"""
LINK = """
while [ $# -gt 1 ]; do
  to=$tree/$2
  if way "$2"; then mkdir -p -- "${to%/*}" && ln -s -- "$1" "$to" || exit 1; fi
  shift 2
done
"""
REMOVE = 'for p; do if way "$p"; then rm -rf -- "$tree/$p" || exit 1; fi; done'
TOUCH = 'for p; do touch -c -- "$tree/$p" || exit 1; done'
EXECUTABLE = 'for p; do chmod 755 -- "$tree/$p" || exit 1; done'
EMPTY = 'for p; do if way "$p"; then rmdir -- "$tree/$p" 2>/dev/null; fi; done; :'


@dataclass(frozen=True, slots=True)
class Plant:
    """One file to lay into the tree; of a link, `data` is its target."""

    data: bytes
    executable: bool = False
    link: bool = False


@dataclass
class Replant:
    """What was moved aside and what was laid in its place, in one sandbox's tree."""

    sandbox: Sandbox
    aside: dict[str, str] = field(default_factory=dict)
    laid: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.store = f"{self.sandbox.tmp}/aside-{secrets.token_hex(8)}"

    def move_aside(self, paths: Sequence[str]) -> None:
        """Take these paths out of the tree for now."""
        self.sandbox.write(f"{self.store}/.made", b"")
        pairs = []
        for path in sorted(set(paths) - self.aside.keys(), key=lambda one: (-one.count("/"), one)):
            self.aside[path] = f"{self.store}/{len(self.aside)}"
            pairs += [path, self.aside[path]]
        self._do(OUT, pairs, 2)

    def lay(self, plants: Mapping[str, Plant]) -> None:
        """Put these files there; whatever stood in their place is gone, so move it aside first."""
        self.laid.update(plants)
        self._do(REMOVE, list(plants))
        for path, plant in plants.items():
            self.made.update(_parents(path))
            if not plant.link:
                self.sandbox.write(f"{self.sandbox.tree}/{path}", plant.data)
        links = [(plant.data.decode("utf-8", "surrogateescape"), path) for path, plant in plants.items() if plant.link]
        self._do(LINK, [word for pair in links for word in pair], 2)
        self._do(TOUCH, [path for path, plant in plants.items() if not plant.link])
        self._do(EXECUTABLE, [path for path, plant in plants.items() if plant.executable])

    def take_up(self, paths: Sequence[str]) -> None:
        """Remove files that were laid."""
        self._do(REMOVE, [path for path in paths if path in self.laid])
        self.laid.difference_update(paths)

    def bring_back(self, paths: Sequence[str]) -> None:
        """Put what was moved aside where it was."""
        wanted = sorted((path for path in paths if path in self.aside), key=lambda one: (one.count("/"), one))
        self._do(BACK, [word for path in wanted for word in (self.aside.pop(path), path)], 2)

    def undo(self) -> None:
        """The tree as it was; directories that only the laid files needed are removed when they are empty."""
        self.take_up(sorted(self.laid))
        self.bring_back(sorted(self.aside))
        self._do(EMPTY, sorted(self.made, key=lambda one: (-one.count("/"), one)))
        result = self.sandbox.exec(Command(("rm", "-rf", "--", self.store), SECONDS))
        self._check(result)

    def _do(self, script: str, words: Sequence[str], group: int = 1) -> None:
        """Run a fixed script on paths, some at a time; what an agent named is only ever an argument."""
        tree = self.sandbox.tree
        for start in range(0, len(words), BATCH * group):
            some = words[start : start + BATCH * group]
            self._check(self.sandbox.exec(Command(("/bin/sh", "-c", _WAY + script, "sh", tree, *some), SECONDS)))

    def _check(self, result: ExecResult) -> None:
        if result.interrupted:
            raise InfraError("interrupted", "stopped while the tree was prepared for a scorer")
        if result.exit_code != 0:
            raise InfraError("sandbox_error", f"the tree could not be prepared: {result.tail(300)}")


def _parents(path: str) -> Iterator[str]:
    parts = path.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])


def baseline_plants(evidence: Evidence) -> dict[str, Plant]:
    """Every changed path that the baseline had, as it was there."""
    plants: dict[str, Plant] = {}
    for change in evidence.diff.files:
        if change.kind == "added":
            continue
        path = change.old_path or change.path
        if change.old_mode == "120000":
            target = "\n".join(text for _, text in change.removed)
            if target:
                plants[path] = Plant(target.encode("utf-8"), link=True)
            continue
        data = evidence.before(path)
        if data is None:
            continue  # a fifo, socket or device: no test needs one
        if len(data) >= HEAD:
            raise InfraError("sandbox_error", f"{path!r} of the baseline is too large to be laid back")
        # A pure rename does not tell the mode; a script that names its interpreter is meant to be run.
        executable = change.old_mode == "100755" or (change.old_mode is None and data.startswith(b"#!"))
        plants[path] = Plant(data, executable=executable)
    return plants


def changed_now(evidence: Evidence) -> list[str]:
    """Every changed path that the agent's tree has."""
    return sorted({change.path for change in evidence.diff.files if change.kind != "deleted"})


def laid_over(
    evidence: Evidence, ours: Callable[[str], bool], extra: Mapping[str, Plant]
) -> tuple[set[str], dict[str, Plant]]:
    """What leaves the agent's tree and what is laid there, so that files which are `ours` are the baseline's.

    A file or link that stands where a directory of theirs should be leaves too.
    """
    plants = {path: plant for path, plant in baseline_plants(evidence).items() if ours(path)} | {**extra}
    above = {parent for path in plants for parent in _parents(path)}
    return {path for path in changed_now(evidence) if ours(path) or path in above or path in extra}, plants
