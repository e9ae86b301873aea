"""What tests_unmodified and baseline_unmodified have in common: the named files must be exactly as they were."""

from collections.abc import Iterable, Iterator

from steelyard.domain.diff import FileChange, printable
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Finding, Grade, failed, passed
from steelyard.scorers.paths import SHOWN, files

_SAID = {
    "added": "was created",
    "deleted": "was deleted",
    "modified": "was edited",
    "renamed": "was renamed",
    "mode": "had its mode changed",
    "type": "was replaced by another kind of file",
}


def grade_frozen(evidence: Evidence, paths: tuple[str, ...], rule: str) -> Grade:
    """FAIL when a named file was touched in any way, or was not in the baseline: what isn't there can't be frozen."""
    changes = _by_path(evidence.diff.files)
    found = [
        Finding(path=path, rule=rule, message=message)
        for path in dict.fromkeys(paths)
        if (message := _touched(path, changes, evidence)) is not None
    ]
    if not found:
        return passed(f"{files(len(set(paths)))} unmodified")
    named = "; ".join(f"{f.path} {f.message}" for f in found[:SHOWN])
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return failed(f"{named}{more}", findings=tuple(found))


def _by_path(changes: Iterable[FileChange]) -> dict[str, FileChange]:
    return {path: change for change in changes for path in change.paths}


def _touched(path: str, changes: dict[str, FileChange], evidence: Evidence) -> str | None:
    change = changes.get(path)
    if change is not None:
        return _said(path, change)
    parent = next((changes[above] for above in _above(path) if above in changes), None)
    if parent is not None:
        return f"lies below {printable(parent.path)}, which {_SAID[parent.kind]}"
    if path not in evidence.baseline_files and evidence.before(path) is None:
        return "is not in the baseline, so it can't be frozen: name a file that the seed has"
    return None


def _above(path: str) -> Iterator[str]:
    """The directories over a path: one of them may have become a symlink or a file."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _said(path: str, change: FileChange) -> str:
    if change.kind == "renamed" and path == change.old_path:
        return f"was renamed to {printable(change.path)}"
    if change.kind == "renamed":
        return f"was overwritten by a rename of {printable(str(change.old_path))}"
    if change.kind == "mode":
        return f"had its mode changed from {change.old_mode} to {change.new_mode}"
    return _SAID[change.kind]
