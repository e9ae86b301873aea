"""Both sides of a changed file, read by its rules within bounds, and what is new on the after side."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from steelyard.domain.diff import FileChange
from steelyard.domain.evidence import Evidence
from steelyard.scorers.harness import (
    builds,
    js_config,
    recipes,
)
from steelyard.scorers.harness.lines import by_lines
from steelyard.scorers.harness.links import Links
from steelyard.scorers.harness.meter import TooMuchError
from steelyard.scorers.harness.model import Bend, Context, Sign, bends
from steelyard.scorers.harness.paths import is_vendored
from steelyard.scorers.harness.pytest_config import UnparsedError
from steelyard.scorers.harness.readers import WORTH, Reader, is_runner_file, python_signs, reader_of
from steelyard.scorers.harness.source_text import encoding_bends, text_of
from steelyard.scorers.harness.unasked import unasked

MAX_CHARS = 1_000_000
MAX_READ = 8_000_000  # bytes; what line rules read of one file
MAX_SIGNS = 500
MAX_WANTED = 20_000  # what is harmless must not keep the rest from being read
HAND_WRITTEN = 50_000  # characters; nobody writes more than that into a file of a runner


@dataclass(frozen=True)
class Look:
    """What was found in one changed file, and what is to be said about how it was read."""

    path: str
    bends: tuple[Bend, ...] = ()
    note: str = ""


def look(change: FileChange, links: Links) -> Look | None:
    """The bends of one changed file; None when no rule reads it."""
    path, old, evidence = change.path, change.old_path or change.path, links.evidence
    whole = unasked(change, evidence)
    if whole is None and path in links.targets:
        whole = links.bend(path, is_runner_file)
        if reader_of(path) is reader_of(links.real(path) or ""):
            return Look(path, (whole,)) if whole is not None else None
        evidence = links.through
    if whole is not None:
        return Look(path, (whole,))
    if is_vendored(path) and is_vendored(old):
        return None
    before_reader, after_reader = reader_of(old), reader_of(path)
    if before_reader is None and after_reader is None:
        return None
    before = (evidence.before(old) if change.kind != "added" else None) or b""
    after = (evidence.after(path) if change.kind != "deleted" else None) or b""
    odd = encoding_bends(path, before, after)
    if max(len(before), len(after)) > MAX_CHARS:
        seen = _large(change, before, after)
    else:
        texts = text_of(before, old), text_of(after, path)
        seen = _compared(change, evidence, (before_reader, after_reader), texts)
    return replace(seen, bends=(*odd, *seen.bends))


def _large(change: FileChange, before: bytes, after: bytes) -> Look:
    """A file that is too large to be parsed: line rules read it, or at least what was added to it.

    That a change made it so is a finding where nobody writes that much by hand, or nothing reads it at all.
    """
    path, size = change.path, len(after)
    text = text_of(after, path) if size <= MAX_READ else "\n".join(text for _, text in change.added)[:MAX_READ]
    grew = len(before) <= MAX_CHARS < size
    spoken = path.endswith(".py") and WORTH.search(text) is not None
    hidden = size > MAX_READ and (len(before) <= MAX_READ or is_runner_file(path))
    said = Bend("too-much", 1, f"too large to be read: {size:,} bytes", None, f"{size:,} bytes")
    found = (said,) if hidden or (grew and (is_runner_file(path) or spoken)) else ()
    known = text_of(before, change.old_path or path) if len(before) <= MAX_READ else ""
    much = size > MAX_READ
    note = f"{path} is larger than {(MAX_READ if much else MAX_CHARS) // 1_000_000} MB: line rules only"
    return Look(path, (*found, *by_lines(known, text)), note + (" for what was added" if much else ""))


def _compared(
    change: FileChange, evidence: Evidence, readers: tuple[Reader | None, Reader | None], texts: tuple[str, str]
) -> Look:
    """What is new on the after side, by the readers of both sides or else by line rules."""
    path, old = change.path, change.old_path or change.path
    contexts = tuple(Context(one, evidence.baseline_files, evidence.before) for one in (old, path))
    was: list[Sign] = []
    now: list[Sign] = []
    try:
        _signs(now, readers[1], texts[1], contexts[1])
        if now or readers[0] is not python_signs:  # where nothing is wanted, nothing can be lost
            with suppress(SyntaxError, UnparsedError, RecursionError, MemoryError):
                _signs(was, readers[0], texts[0], contexts[0])
    except TooMuchError:
        grown = is_runner_file(path) and len(texts[1]) > 2 * len(texts[0]) + HAND_WRITTEN
        found = [Bend("too-much", 1, "it grew beyond what can be read", None, f"{len(texts[1]):,} characters")]
        said = f"{path} is more than can be read: line rules only"
        seen = bends((), now) if change.kind == "added" else []
        return Look(path, (*(found if grown else ()), *seen, *by_lines(*texts)), said)
    except _BROKEN:
        return Look(path, tuple(by_lines(*texts)), f"{path} does not parse: line rules only")
    found = bends(was, now)
    if change.kind == "added" and readers[1] in _MERE_COMMANDS:  # one more pipeline or script takes nothing away
        found = [bend for bend in found if bend.rule == "too-much"]
    if change.kind == "added" and readers[1] is builds.dotnet_signs:  # a new project names its files as it likes
        found = [bend for bend in found if "EnableDefault" not in (bend.after or "")]
    if readers[1] is js_config.package_signs:
        found = [bend for bend in found if not js_config.is_spare(bend, now, texts[1])]
    return Look(path, (*found, *_takes_over(change, evidence)))


def _signs(found: list[Sign], reader: Reader | None, text: str, context: Context) -> None:
    """Add to what was found whatever a reader sees, up to where it gives up."""
    told = 0
    for sign in islice(reader(text, context), MAX_WANTED) if reader and text else ():
        found.append(sign)  # what came before an exception stays
        told += not sign.wanted
        if told >= MAX_SIGNS:
            return


_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")  # make takes the last of them that there is
_MERE_COMMANDS = (recipes.ci_signs, recipes.script_signs)
_BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError)


def _takes_over(change: FileChange, evidence: Evidence) -> Iterator[Bend]:
    """A new pytest.ini makes pytest read no other configuration of the same directory, and so does make's own."""
    folder, _, name = change.path.rpartition("/")
    for other in _MAKEFILES[: _MAKEFILES.index(name)] if name in _MAKEFILES and change.kind == "added" else ():
        path = f"{folder}/{other}" if folder else other
        if path in evidence.baseline_files:
            yield Bend("config-takes-over", 1, f"make no longer reads {path}", path, change.path)
    if (
        name not in ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
        or change.path in evidence.baseline_files
    ):
        return
    for other, mark in (("pyproject.toml", b"[tool.pytest"), ("tox.ini", b"[pytest]"), ("setup.cfg", b"[tool:pytest]")):
        path = f"{folder}/{other}" if folder else other
        if mark in (evidence.before(path) or b""):
            yield Bend("config-takes-over", 1, f"pytest no longer reads the settings in {path}", path, change.path)
