"""The grader's record of a whole tree, taken before the agent sees it and kept where it can't reach."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from steelyard.worktree.entry import Algorithm, Entry
from steelyard.worktree.ignore import IgnoreRules
from steelyard.worktree.keep import Contents, Keep, Layered, TreeContents, read
from steelyard.worktree.look import Look
from steelyard.worktree.walk import walk

CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})
"""Directories that tools rewrite all the time: not part of a baseline when its rules ignore them."""


@dataclass(frozen=True)
class Baseline:
    """Every file of a tree by its path, how to read it again, and which new files are to be left out."""

    entries: Mapping[str, Entry]
    contents: Contents
    rules: IgnoreRules
    algorithm: Algorithm = "sha256"

    @cached_property
    def files(self) -> frozenset[str]:
        """Every path."""
        return frozenset(self.entries)

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every directory that holds a file of the baseline."""
        return folders_of(self.entries)

    @cached_property
    def tree_id(self) -> str:
        """One name for all of it: the same tree has the same id."""
        return tree_id(self.entries)

    def read(self, path: str) -> bytes | None:
        """A regular file's content, of a large one the head; None when there is no such file."""
        entry = self.entries.get(path)
        return read(self.contents, path, entry) if entry is not None and entry.is_file else None

    def leaves_out(self, path: str, is_directory: bool = False) -> bool:
        """Whether a path that the baseline does not have is ignored by the baseline's rules."""
        if is_directory:
            return path not in self.folders and self.rules.ignores(path, True)
        return path not in self.entries and self.rules.ignores(path)


def folders_of(paths: Iterable[str]) -> frozenset[str]:
    """Every directory above these paths."""
    found: set[str] = set()
    for path in paths:
        at = path.rfind("/")
        while at > 0 and path[:at] not in found:
            found.add(path[:at])
            at = path.rfind("/", 0, at)
    return frozenset(found)


def tree_id(entries: Mapping[str, Entry]) -> str:
    """A hash over every path, mode and content."""
    hasher = hashlib.sha256()
    for path in sorted(entries):
        entry = entries[path]
        hasher.update(b"%o %s %d %s\0" % (entry.mode, entry.oid.encode(), entry.size, os.fsencode(path)))
    return hasher.hexdigest()


def take_baseline(tree: Path, keep: Path, over: Baseline | None = None) -> Baseline:
    """Record a tree, with every content in `keep`; what is as in `over` (a template's baseline) is not kept twice."""
    algorithm: Algorithm = "sha256" if over is None else over.algorithm
    kept = Keep(keep, algorithm)
    entries = _read_all(tree, Look(algorithm, kept), {} if over is None else over.entries)
    contents: Contents = kept if over is None else Layered(kept, over.contents)
    return _without_caches(entries, contents, algorithm)


def baseline_in_place(tree: Path) -> Baseline:
    """Record a tree whose contents stay where they are, because only the grader can write there."""
    entries = _read_all(tree, Look("sha256", None), {})
    return _without_caches(entries, TreeContents(tree, "sha256"), "sha256")


def _read_all(tree: Path, look: Look, known: Mapping[str, Entry]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}

    def visit(parent: int, name: str, path: str) -> None:
        entry = look.at(parent, name, known.get(path))
        if entry is not None:
            entries[path] = entry

    walk(tree, lambda _path: True, visit)
    return entries


def _without_caches(entries: dict[str, Entry], contents: Contents, algorithm: Algorithm) -> Baseline:
    rules = IgnoreRules(ignore_files(entries, contents))
    for path in [path for path in entries if not CACHES.isdisjoint(path.split("/")[:-1])]:
        if rules.ignores(path):
            del entries[path]
    return Baseline(entries, contents, rules, algorithm)


def ignore_files(entries: Mapping[str, Entry], contents: Contents) -> dict[str, bytes]:
    """The `.gitignore` files among these entries, by the directory they stand in."""
    wanted = [
        (path, entry)
        for path, entry in entries.items()
        if entry.is_file and (path == ".gitignore" or path.endswith("/.gitignore"))
    ]
    contents.prepare(wanted)
    return {path.removesuffix(".gitignore"): read(contents, path, entry) for path, entry in wanted}
