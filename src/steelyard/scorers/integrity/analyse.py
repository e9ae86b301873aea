"""The seam: which analyser reads a file, and both sides of it in the same way."""

import re
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from threading import Lock

from steelyard.domain.diff import printable
from steelyard.domain.evidence import Evidence
from steelyard.scorers.integrity.lines import silenced
from steelyard.scorers.integrity.model import EMPTY, TOO_DEEP, TOO_LARGE, TOO_MUCH, TOO_SLOW, Analyser, View
from steelyard.scorers.integrity.paths import family_of
from steelyard.scorers.integrity.python import Python
from steelyard.scorers.integrity.sources import Source, sources
from steelyard.scorers.integrity.trees import Trees
from steelyard.scorers.integrity.trim import Piece, pieces
from steelyard.scorers.integrity.unchanged import without_unchanged

_BUILD_TAG = re.compile(r"// ?(?:go:build|\+build)\b(?!.*\bignore\b)")
# What begins a string or a comment that may go over several lines, in any of the languages.
_LONG = re.compile(r"\"\"\"|'''|`|/\*|=begin|<<[-~\"'A-Z]|@\"|r#*\"|%[qQwWiIrsx]?[^\w\s%]")
CACHED_CHARS = 32_000_000
# How much of a change is read by syntax, how much a text that does not parse counts for, how often one is read at most.
SYNTAX_CHARS, FAILED, MOST_READ = 200_000, 3, 20
MOST_CUT = 80_000  # a few lines of a larger text may be made to parse
_WHOLE = frozenset({TOO_LARGE, TOO_DEEP})  # what is true of a part is true of the whole


def analyser_for(path: str) -> Analyser:
    """The best analyser there is for a path; an unknown language is read by the rules of the most similar family."""
    family = family_of(path) or "javascript"
    return Python() if family == "python" else Trees(family)


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides of a changed test file, read in the same way.

    `silenced`: how many lines of code became a comment, and where, in a file that only line rules read.
    """

    path: str
    before: View
    after: View
    note: str = ""
    after_text: str = ""
    cost: int = 0
    silenced: tuple[int, int] = (0, 0)
    unread: bool = False


class _Cache:
    """Read files by content, so that both scorers share the work; bounded by the text they stand for."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size, self._lock = limit, 0, Lock()
        self._pairs: OrderedDict[bytes, tuple[int, Pair]] = OrderedDict()

    def pair(self, source: Source, left: int) -> Pair:
        """Both sides of a file, read at most once while they stay in the cache; `left`: as in `pairs`."""
        digest = blake2b(b"%d" % min(left, _length(source) * MOST_READ), digest_size=20)
        size = 0
        for part in (source.path, source.old_path, source.note + str(source.unread), source.before, source.after):
            raw = b"\0none" if part is None else part.encode("utf-8", "surrogatepass")
            size += len(raw)
            digest.update(b"%d " % len(raw) + raw)
        key = digest.digest()
        with self._lock:
            hit = self._pairs.get(key)
            if hit is not None:
                self._pairs.move_to_end(key)
                return hit[1]
        pair = _pair(source, left)
        with self._lock:
            if key not in self._pairs:
                self._pairs[key] = (size, pair)
                self._size += size
            while self._size > self._limit and self._pairs:
                self._size -= self._pairs.popitem(last=False)[1][0]
        return pair


_CACHE = _Cache(CACHED_CHARS)


def pairs(evidence: Evidence, globs: tuple[str, ...]) -> list[Pair]:
    """Every changed test file, read on both sides."""
    left, found = SYNTAX_CHARS, []
    # A new file can't weaken anything: what is read by syntax before the bound is reached is what was there before, and
    # small files first, so that a huge one hides nothing but itself.
    for source in sorted(sources(evidence, globs), key=lambda source: (source.before is None, _length(source))):
        pair = _CACHE.pair(source, left)
        left = max(0, left - pair.cost)
        found.append(pair)
    return sorted(found, key=lambda pair: pair.path)


def _pair(source: Source, left: int) -> Pair:
    analyser, old = analyser_for(source.path), analyser_for(source.old_path)
    if source.before is None or source.after is None or analyser.family != old.family:
        before, after = _apart(source, old, analyser, left)
        cost = 0 if source.note or TOO_MUCH in (before.note, after.note) else _length(source)
        cost *= 1 if "syntax" in {before.mode, after.mode} else FAILED
    else:
        cut = bool(source.note) and _length(source) > MOST_CUT
        before, after, cost = _both(analyser, source.before, source.after, left, cut=cut)
    said = next((note for note in (source.note, before.note, after.note) if note), "")
    if source.before is None:
        # A new Go file may be written for one platform; on an old file a build tag switches tests off.
        after = replace(after, skips=tuple(mark for mark in after.skips if not _BUILD_TAG.match(mark.text)))
    return Pair(source.path, before, after, said, source.after or "", cost, _silenced(source, after), source.unread)


def _size(text: str) -> int:
    """What reading a text costs, in characters: every line costs a little too, an empty one nothing."""
    lines = text.count("\n")
    return len(text) - lines + 8 * (lines - text.count("\n\n"))


def _length(source: Source) -> int:
    return len(source.before or "") + len(source.after or "")


def _apart(source: Source, old: Analyser, new: Analyser, left: int) -> tuple[View, View]:
    """Both sides, each read by itself and as a whole, but in the same way."""
    given = [(reader, text) for reader, text in ((old, source.before), (new, source.after)) if text is not None]
    if source.note or _length(source) > left:
        views = [View(note="" if source.note else TOO_MUCH)] * len(given)
    else:
        views = [reader.syntax(text) for reader, text in given]
    if any(view.mode == "none" for view in views):
        views = [reader.lines(text, view.note) for (reader, text), view in zip(given, views, strict=True)]
    return (EMPTY, views[-1]) if source.before is None else (views[0], views[1] if len(views) > 1 else EMPTY)


def _silenced(source: Source, after: View) -> tuple[int, int]:
    old, new = source.before or "", source.after or ""
    family = analyser_for(source.path).family
    small = after.mode == "lines" and after.note not in {TOO_LARGE, TOO_MUCH}
    return silenced(family, old, new) if small and old and _opens_comments(old, new) else (0, 0)


def _opens_comments(old: str, new: str) -> bool:
    return any(new.count(mark) > old.count(mark) for mark in ("/*", "=begin"))


def _both(analyser: Analyser, before: str, after: str, left: int, *, cut: bool) -> tuple[View, View, int]:
    """Both sides of the smallest part that holds every difference and can be read by itself; else by line rules.

    `left`: how much may be read by syntax; `cut`: the text is part of a file and won't parse. The third value is how
    much was read by syntax.
    """
    if before == after:
        return View("syntax"), View("syntax"), 0
    views, cost = (EMPTY, EMPTY), 0
    if not cut:
        context = (analyser.context(before), analyser.context(after))
        if analyser.family != "python":
            context = (context[0], context[0])  # a test is a test by the rule that held before
        for piece in _parts(analyser.family, before, after):
            whole = piece.before == before
            size = _size(piece.before) + _size(piece.after)
            if cost + size > left:
                views = (View(note=TOO_MUCH), View(note=TOO_MUCH))
                break
            cost += size
            given = ("", "") if whole and analyser.family == "python" else context
            first = analyser.syntax(piece.before, given[0], piece.lines[0])
            slow = first.note == TOO_SLOW
            views = (first, first if slow else analyser.syntax(piece.after, given[1], piece.lines[1]))
            same = first.around == views[1].around  # what was left out is still what it was
            if same and not any(view.note for view in views) and (whole or not _repeats(views, after)):
                return *views, cost
            if any(view.note == TOO_SLOW for view in views) or (whole and any(view.note for view in views)):
                cost += (FAILED - 1) * size  # few such files may be tried
            if any(view.note == TOO_SLOW for view in views) or all(view.note in _WHOLE for view in views):
                break  # and so is the whole
        if all(view.mode == "syntax" for view in views):
            return *views, cost
        size = len(before) + len(after)
        parses = "does not parse" not in (views[0].note, views[1].note)
        if not parses and cost + size <= left and not _opens_comments(before, after):
            filled = (analyser.completed(before, context[0]), analyser.completed(after, context[1]))
            cost += size
            if all(view.mode == "syntax" for view in filled):
                return *filled, cost
    said = next((view.note for view in views if view.note), "")
    emptied = without_unchanged(analyser.family, before, after)
    if emptied is not None and not _LONG.search(emptied.after):  # nothing that is left reaches over what is not
        before, after = emptied.before, emptied.after
    return analyser.lines(before, said), analyser.lines(after, said), cost


def _parts(family: str, before: str, after: str) -> Iterator[Piece]:
    """Ever larger parts that hold every difference, without what is the same on both sides; in the end the whole."""
    for piece in pieces(family, before, after):
        emptied = without_unchanged(family, piece.before, piece.after)
        if emptied is not None:
            yield Piece(emptied.before, emptied.after, emptied.lines)
        if emptied is None or piece.before == before:
            yield piece


def _repeats(views: tuple[View, View], after: str) -> bool:
    """Whether a part brings a test whose name may stand elsewhere in the file already."""
    known = {test.name for test in views[0].tests}
    brought = {test.name.rsplit(".", 1)[-1] for test in views[1].tests if test.name not in known}
    return bool(brought) and any(
        count > 1 and name in brought for name, count in Counter(re.findall(r"def (\w+)\(", after)).items()
    )


def notes(changed: list[Pair]) -> str:
    """What a grade adds about files that could not be read by syntax; empty when all could."""
    said = [f"{printable(pair.path)}: {pair.note}" for pair in changed if pair.note]
    if not said:
        return ""
    more = f" and {len(said) - 3} more" if len(said) > 3 else ""
    return f"; by line rules: {'; '.join(said[:3])}{more}"
