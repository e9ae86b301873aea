"""A file's change as rows: line numbers on both sides, coloured text, findings at their lines, some rows at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from markupsafe import Markup

from steelyard.domain.diff import FileChange, printable
from steelyard.domain.grade import Finding
from steelyard.web.pages.colours import painter
from steelyard.web.pages.text import visible

PIECE = 800  # rows of one file that are shown at once


@dataclass(frozen=True)
class Note:
    """A finding and the scorer that made it."""

    scorer: str
    finding: Finding


@dataclass(frozen=True)
class Row:
    """One row: `kind` is hunk, same, add, del or none; the notes stand below it."""

    kind: str
    old: int | None
    new: int | None
    text: Markup
    notes: list[Note] = field(default_factory=list)


@dataclass(frozen=True)
class FileView:
    """One changed file: its rows from `start`, and how many more there are."""

    index: int
    path: str
    old_path: str | None
    kind: str
    added: int
    removed: int
    remark: str
    notes: list[Note]
    rows: list[Row]
    pairs: list[tuple[Row, Row]]
    start: int
    total: int
    loaded: bool


def listed(index: int, change: FileChange, notes: list[Note]) -> FileView:
    """A file without its rows."""
    added, removed = counts(change)
    remark = "binary" if change.binary else ""
    if change.old_mode != change.new_mode and change.old_mode and change.new_mode:
        remark = f"{remark} mode {change.old_mode} → {change.new_mode}".strip()
    old = printable(change.old_path) if change.old_path else None
    path = printable(change.path)
    return FileView(
        index=index,
        path=path,
        old_path=old,
        kind=change.kind,
        added=added,
        removed=removed,
        remark=remark,
        notes=notes,
        rows=[],
        pairs=[],
        start=0,
        total=0,
        loaded=False,
    )


def counts(change: FileChange) -> tuple[int, int]:
    """Added and removed lines, counted on the bytes: a body line always has its mark in front."""
    return change.hunks.count(b"\n+"), change.hunks.count(b"\n-")


def shown(listing: FileView, change: FileChange, start: int = 0, piece: int = PIECE) -> FileView:
    """A file with its rows from `start` on."""
    rows = list(_rows(change, start, piece))
    total = change.hunks.count(b"\n") + 1 if change.hunks else 0
    placed: set[int] = set()
    for row in rows:
        side = row.old if change.kind == "deleted" else row.new
        for number, note in enumerate(listing.notes):
            if note.finding.line is not None and note.finding.line == side and row.kind in ("add", "same", "del"):
                if row.kind == "del" and change.kind != "deleted":
                    continue
                row.notes.append(note)
                placed.add(number)
    rest = [note for number, note in enumerate(listing.notes) if number not in placed]
    return FileView(
        **{**listing.__dict__, "rows": rows, "pairs": _pairs(rows), "start": start, "total": total, "loaded": True}
        | {"notes": rest}
    )


def _rows(change: FileChange, start: int, piece: int) -> Iterator[Row]:
    paint = painter(printable(change.path))
    old = new = 0
    for number, line in enumerate(_lines(change.hunks)):
        if number >= start + piece:
            return
        mark, text = line[:1], line[1:]
        if line.startswith("@@ -"):
            old, new = _starts(line)
            row = Row("hunk", None, None, Markup.escape(visible(line[:400])))
        elif mark == "+":
            row = Row("add", None, new, paint(text) if number >= start else Markup())
            new += 1
        elif mark == "-":
            row = Row("del", old, None, paint(text) if number >= start else Markup())
            old += 1
        elif mark == " ":
            row = Row("same", old, new, paint(text) if number >= start else Markup())
            old, new = old + 1, new + 1
        else:
            row = Row("hunk", None, None, Markup.escape(visible(line[:400])))
        if number >= start:
            yield row


def _lines(hunks: bytes) -> Iterator[str]:
    at = 0
    while at < len(hunks):
        end = hunks.find(b"\n", at)
        end = len(hunks) if end < 0 else end
        yield hunks[at:end].decode("utf-8", "replace")
        at = end + 1


def _starts(line: str) -> tuple[int, int]:
    try:
        old, new = line[4:].split(" ", 2)[:2]
        return int(old.split(",")[0]), int(new.lstrip("+").split(",")[0])
    except ValueError:
        return 0, 0


_EMPTY = Row("none", None, None, Markup())


def _pairs(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Rows side by side: removed lines next to the added ones that follow them."""
    pairs: list[tuple[Row, Row]] = []
    removed: list[Row] = []
    added: list[Row] = []

    def flush() -> None:
        for number in range(max(len(removed), len(added))):
            left = removed[number] if number < len(removed) else _EMPTY
            right = added[number] if number < len(added) else _EMPTY
            pairs.append((left, right))
        removed.clear()
        added.clear()

    for row in rows:
        if row.kind == "del":
            if added:
                flush()
            removed.append(row)
        elif row.kind == "add":
            added.append(row)
        else:
            flush()
            pairs.append((row, row))
    flush()
    return pairs
