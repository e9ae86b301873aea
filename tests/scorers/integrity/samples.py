"""Reads the labelled samples: a base file and edits of it, each with the scorer that must see it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "samples"


@dataclass(frozen=True)
class Sample:
    """One edit of a test file and what it must be called."""

    language: str
    kind: str
    verdict: str
    path: str
    before: str
    after: str


def samples() -> Iterator[Sample]:
    """Every sample of every language."""
    for file in sorted(FOLDER.glob("*.sample")):
        first, *edits = file.read_text(encoding="utf-8").split("@@ edit ")
        head, _, base = first.partition("\n")
        for edit in edits:
            title, _, parts = edit.partition("\n")
            kind, _, verdict = title.partition(" | ")
            path = head.removeprefix("@@ base ").strip()
            yield Sample(file.stem, kind, verdict.strip(), path, base, _edited(base, parts, f"{file.name}: {kind}"))


def _edited(base: str, parts: str, place: str) -> str:
    text = base
    for part in parts.split("<<<<\n")[1:]:
        old, _, rest = part.partition("====\n")
        new = rest.partition(">>>>")[0]
        if old not in base and old.rstrip("\n") in base:
            old, new = old.rstrip("\n"), new.rstrip("\n")
        if old not in text:
            raise ValueError(f"{place}: the old text does not stand in the base")
        text = text.replace(old, new, 1)
    return text
