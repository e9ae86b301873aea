"""What differs between the arms of a suite: their fields, and the files of their overlays."""

import hashlib
import os
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, Literal

from steelyard.domain.record import Record
from steelyard.domain.suite import Arm, Suite

MAX_TEXT = 256 * 1024
MAX_DIFF_LINES = 400


class FieldDifference(Record):
    """A field that two arms set differently; what one of them leaves out is None."""

    field: str
    baseline: Any
    arm: Any


class FileDifference(Record):
    """An overlay file that only one arm has, or that they have differently; `diff` is empty for binary files."""

    path: str
    kind: Literal["added", "removed", "changed"]
    diff: str = ""


class ArmDifference(Record):
    """How one arm differs from the baseline arm."""

    baseline: str
    arm: str
    fields: tuple[FieldDifference, ...]
    files: tuple[FileDifference, ...]


def arm_differences(suite: Suite) -> tuple[ArmDifference, ...]:
    """Every other arm against the baseline arm (the first one, unless the suite names one)."""
    named = [arm for arm in suite.arms if arm.name == suite.compare.baseline]
    baseline = (named or list(suite.arms))[0]
    root = Path(suite.root)
    before = _overlay(baseline, root)
    return tuple(
        ArmDifference(
            baseline=baseline.name,
            arm=arm.name,
            fields=_fields(_flat(baseline), _flat(arm)),
            files=_files(before, _overlay(arm, root)),
        )
        for arm in suite.arms
        if arm.name != baseline.name
    )


def _flat(arm: Arm) -> dict[str, Any]:
    agent = dict(arm.agent)
    return {"agent": agent.pop("type", None), **agent, "env": list(arm.env), "preamble": arm.preamble}


def _fields(before: dict[str, Any], after: dict[str, Any]) -> tuple[FieldDifference, ...]:
    return tuple(
        FieldDifference(field=field, baseline=before.get(field), arm=after.get(field))
        for field in {**before, **after}
        if before.get(field) != after.get(field)
    )


@dataclass(frozen=True, slots=True)
class _Content:
    """A file's content: text lines, or None for what is not text, with what tells it apart and how it may be used."""

    identity: bytes
    lines: tuple[str, ...] | None
    executable: bool = False


def _overlay(arm: Arm, root: Path) -> dict[str, _Content]:
    """An overlay's files by path; links count as what they point to in words and are never followed."""
    found: dict[str, _Content] = {}
    if arm.overlay is None:
        return found
    top = root / arm.overlay
    for folder, names, files in os.walk(top):
        links = [name for name in names if (Path(folder) / name).is_symlink()]
        for name in [*files, *links]:
            file = Path(folder) / name
            found[file.relative_to(top).as_posix()] = _content(file)
    return found


def _content(file: Path) -> _Content:
    if file.is_symlink() or not file.is_file():
        words = f"link to {file.readlink()}" if file.is_symlink() else "neither a file nor a link"
        return _Content(words.encode("utf-8", "surrogateescape"), (words,))
    executable = bool(file.stat().st_mode & 0o111)
    if file.stat().st_size > MAX_TEXT:
        with file.open("rb") as stream:
            return _Content(hashlib.file_digest(stream, "sha256").digest(), None, executable)
    data = file.read_bytes()
    try:
        lines = None if b"\0" in data else tuple(data.decode("utf-8").splitlines())
    except UnicodeDecodeError:
        lines = None
    return _Content(data, lines, executable)


def _files(before: dict[str, _Content], after: dict[str, _Content]) -> tuple[FileDifference, ...]:
    differences = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        kind: Literal["added", "removed", "changed"] = (
            "added" if old is None else "removed" if new is None else "changed"
        )
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        differences.append(FileDifference(path=shown, kind=kind, diff=_diff(shown, old, new)))
    return tuple(differences)


def _diff(path: str, old: _Content | None, new: _Content | None) -> str:
    if old and new and old.executable != new.executable and old.identity == new.identity:
        return "made executable" if new.executable else "made not executable"
    before = () if old is None else old.lines
    after = () if new is None else new.lines
    if before is None or after is None:
        return ""
    lines = list(unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm=""))
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… {len(lines) - MAX_DIFF_LINES} more lines"]
    return "\n".join(lines)
