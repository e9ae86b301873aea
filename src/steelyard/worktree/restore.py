"""Makes trees again: baseline plus change, from a capture or a stored patch, and what a command changed since."""

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from steelyard.errors import AgentError, InputError, boundary
from steelyard.worktree.apply import applied
from steelyard.worktree.diff import CapturedChange, scan
from steelyard.worktree.entry import EXECUTABLE, Entry
from steelyard.worktree.keep import Contents, read
from steelyard.worktree.patch import Section, sections
from steelyard.worktree.remove import remove_tree
from steelyard.worktree.snapshot import Baseline, baseline_in_place
from steelyard.worktree.write import TreeWriter


def rebuild(baseline: Baseline, change: CapturedChange, tree: Path) -> None:
    """Make the captured tree in an empty or missing directory; fifos, sockets and devices are left out."""
    if change.baseline is not baseline and change.baseline.tree_id != baseline.tree_id:
        raise InputError("the change was captured against another baseline")
    need_whole(change)
    _write(change.entries, change.contents, tree)


def need_whole(change: CapturedChange) -> None:
    """Refuse a change that no fresh tree can show, because the whole of a file was not read."""
    for path, entry in change.entries.items():
        if not entry.is_whole:
            raise AgentError("bad_output", f"{path!r} is too large ({entry.size} bytes) to be graded in a fresh tree")


def _write(entries: Mapping[str, Entry], contents: Contents, tree: Path) -> None:
    with boundary("sandbox_error", "rebuilding the tree"):
        tree.mkdir(parents=True, exist_ok=True)
        contents.prepare(entries.items())
        with TreeWriter(tree) as writer:
            for path, entry in entries.items():
                _put(writer, path, entry, contents)


def _put(writer: TreeWriter, path: str, entry: Entry, contents: Contents) -> None:
    if entry.is_file:
        writer.file(path, contents.chunks(path, entry), entry.mode == EXECUTABLE)
    elif entry.is_link:
        writer.link(path, read(contents, path, entry))


def put_back(tree: Path, change: CapturedChange) -> list[str]:
    """Give every captured file its captured content again and say which had changed; new files are left alone."""
    now = scan(tree, change.baseline, None)
    changed = sorted(path for path, entry in change.entries.items() if entry.is_whole and now.get(path) != entry)
    wanted = [path for path in changed if change.entries[path].is_file or change.entries[path].is_link]
    if not wanted:
        return []
    with boundary("sandbox_error", "putting the captured tree back"):
        if tree.is_symlink() or not tree.is_dir():
            remove_tree(tree)
            tree.mkdir(parents=True)
        change.contents.prepare([(path, change.entries[path]) for path in wanted])
        with TreeWriter(tree, replace=True) as writer:
            for path in wanted:
                _put(writer, path, change.entries[path], change.contents)
    return wanted


def drop_compiled(tree: Path, change: CapturedChange) -> list[str]:
    """Remove the bytecode that the diff leaves out, so that the sources it shows are what runs; say what went."""
    if change.compiled:
        with boundary("sandbox_error", "removing compiled files"), TreeWriter(tree, replace=True) as writer:
            for path in change.compiled:
                writer.clear(path)
    return list(change.compiled)


def apply_patch(baseline_tree: Path | Baseline, patch: bytes, tree: Path) -> None:
    """Make a tree in an empty or missing directory: the baseline with a stored patch applied, checked by its hashes."""
    baseline = baseline_tree if isinstance(baseline_tree, Baseline) else baseline_in_place(baseline_tree)
    changes = list(sections(patch))
    gone = {section.old_path for section in changes if section.deleted or section.renamed}
    made = {section.new_path for section in changes if not section.deleted}
    rest = {path: entry for path, entry in baseline.entries.items() if path not in gone | made}
    _write(rest, baseline.contents, tree)
    with boundary("sandbox_error", "applying the patch"), TreeWriter(tree) as writer:
        for section in changes:
            if not section.deleted:
                _apply(section, baseline, writer)


def _apply(section: Section, baseline: Baseline, writer: TreeWriter) -> None:
    entry = None if section.created else baseline.entries.get(section.old_path)
    if entry is None and not section.created:
        raise InputError(f"the patch changes {section.old_path!r}, which the baseline does not have")
    mode = section.new_mode or (entry.mode if entry else 0)
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        return  # a fifo, socket or device was noted; it can't be made from a patch
    if section.noted:
        raise InputError(f"the patch leaves out the content of {section.new_path!r}: it was too large to be stored")
    data = applied(section, b"" if entry is None else read(baseline.contents, section.old_path, entry))
    if stat.S_ISLNK(mode):
        writer.link(section.new_path, data)
    else:
        writer.file(section.new_path, _once(data), mode == EXECUTABLE)


def _once(data: bytes) -> Iterator[bytes]:
    yield data
