"""Captures what an agent did to its tree: the grader reads every file itself, and git writes the difference down."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.domain.diff import Diff
from steelyard.errors import AgentError
from steelyard.worktree.entry import MIB, Entry
from steelyard.worktree.keep import Contents, Keep, Layered, read
from steelyard.worktree.look import Look
from steelyard.worktree.objects import Side
from steelyard.worktree.patch import parse_patch, quoted_name
from steelyard.worktree.patches import Patches
from steelyard.worktree.snapshot import Baseline, tree_id
from steelyard.worktree.walk import walk

MAX_PATCHED = 256 * MIB
"""How much content, both sides together, git is asked to compare; more is the agent's fault."""


@dataclass(frozen=True)
class CapturedChange:
    """A change as it was when the agent had ended: what it returns can't change any more.

    `entries` is the whole captured tree, without what the baseline's rules ignore. `compiled` is Python's bytecode
    among what is ignored: the interpreter may take it for the sources beside it, which are what is graded.
    """

    diff: Diff
    baseline: Baseline
    entries: Mapping[str, Entry]
    contents: Contents
    compiled: tuple[str, ...] = ()

    @property
    def baseline_files(self) -> frozenset[str]:
        """Every path that the baseline had."""
        return self.baseline.files

    @property
    def tree_id(self) -> str:
        """One name for the captured tree: the same tree has the same id."""
        return self.baseline.tree_id if self.entries is self.baseline.entries else tree_id(self.entries)

    def before(self, path: str) -> bytes | None:
        """A regular file's content in the baseline; None when it was not there."""
        return self.baseline.read(path)

    def after(self, path: str) -> bytes | None:
        """A regular file's content as it was captured; None when it was not there."""
        entry = self.entries.get(path)
        return read(self.contents, path, entry) if entry is not None and entry.is_file else None


def capture(tree: Path, baseline: Baseline, keep: Path, patches: Patches | None = None) -> CapturedChange:
    """The cumulative change of the whole tree against the baseline; changed contents go into the directory `keep`."""
    kept = Keep(keep, baseline.algorithm, patches)
    compiled: list[str] = []
    entries = scan(tree, baseline, kept, compiled)
    known = baseline.entries
    changed = sorted(path for path in entries.keys() | known.keys() if entries.get(path) != known.get(path))
    if not changed:
        return CapturedChange(Diff(), baseline, known, baseline.contents, tuple(compiled))
    patch = _write_down(changed, baseline, entries, kept)
    contents = Layered(kept, baseline.contents)
    return CapturedChange(Diff(patch, parse_patch(patch)), baseline, entries, contents, tuple(compiled))


def scan(tree: Path, baseline: Baseline, kept: Keep | None, compiled: list[str] | None = None) -> dict[str, Entry]:
    """Every file of a tree that is in the baseline or is not ignored by its rules; ignored bytecode goes to a list."""
    entries: dict[str, Entry] = {}
    known = baseline.entries
    look = Look(baseline.algorithm, kept)

    def enter(path: str) -> bool:
        if not baseline.leaves_out(path, True):
            return True
        if compiled is not None and f"/{path}".endswith("/__pycache__"):
            compiled.append(path)
        return False

    def visit(parent: int, name: str, path: str) -> None:
        if baseline.leaves_out(path):
            if compiled is not None and "/__pycache__/" in f"/{path}":
                compiled.append(path)
            return
        entry = look.at(parent, name, known.get(path))
        if entry is not None:
            entries[path] = entry

    walk(tree, enter, visit)
    return entries


def _write_down(changed: list[str], baseline: Baseline, entries: dict[str, Entry], kept: Keep) -> bytes:
    """Git's patch of the changed files alone, with notes for what git can't or should not write down."""
    known = baseline.entries
    noted = [path for path in changed if not all(e is None or e.in_patch for e in (known.get(path), entries.get(path)))]
    skip = frozenset(noted)
    shown = [path for path in changed if path not in skip]
    _bound(shown, known, entries)
    baseline.contents.prepare([(path, known[path]) for path in shown if path in known])
    before = {path: _blob(path, known[path], baseline.contents, kept) for path in shown if path in known}
    after = {path: _blob(path, entries[path], baseline.contents, kept) for path in shown if path in entries}
    texts = {path for side in (before, after) for path, (_, blob) in side.items() if blob in kept.texts}
    parts = [
        kept.objects.patch(_only(before, texts, False), _only(after, texts, False)),
        kept.objects.patch(_only(before, texts, True), _only(after, texts, True), as_text=True),
        *(_note(path, known.get(path), entries.get(path)) for path in noted),
    ]
    return b"".join(parts)


def _bound(paths: list[str], known: Mapping[str, Entry], entries: Mapping[str, Entry]) -> None:
    total = sum(side[path].size for side in (known, entries) for path in paths if path in side)
    if total > MAX_PATCHED:
        raise AgentError("bad_output", f"the change is larger than {MAX_PATCHED // MIB} MiB")


def _blob(path: str, entry: Entry, contents: Contents, kept: Keep) -> tuple[int, str]:
    blob = kept.blobs.get(entry.oid)
    return entry.mode, kept.put(entry.oid, read(contents, path, entry)) if blob is None else blob


def _only(side: Side, texts: set[str], wanted: bool) -> Side:
    return {path: item for path, item in side.items() if (path in texts) == wanted}


def _note(path: str, old: Entry | None, new: Entry | None) -> bytes:
    """What git writes for a binary change without `--binary`: names, modes and hashes, but no content."""
    a, b = quoted_name(path, b"a/"), quoted_name(path, b"b/")
    lines = [b"diff --git %s %s" % (a, b)]
    if old is None or new is None:
        word, entry = (b"new file", new) if old is None else (b"deleted file", old)
        lines.append(b"%s mode %06o" % (word, entry.mode if entry else 0))
    elif old.mode != new.mode:
        lines += [b"old mode %06o" % old.mode, b"new mode %06o" % new.mode]
    ids = [(entry.oid if entry and entry.oid else "0" * 64).encode() for entry in (old, new)]
    mode = b" %06o" % new.mode if old is not None and new is not None and old.mode == new.mode else b""
    lines.append(b"index %s..%s%s" % (ids[0], ids[1], mode))
    sides = (b"/dev/null" if old is None else a, b"/dev/null" if new is None else b)
    lines.append(b"Binary files %s and %s differ\n" % sides)
    return b"\n".join(lines)
