r"""What an agent wrote, made fit for a judge's eyes: bounded, without secrets, every character visible, and fenced.

A fence is `⟦begin MARK NAME⟧ … ⟦end MARK NAME⟧`. MARK is made from the content itself, so that nobody can write it in
advance, and the brackets ⟦ ⟧ never stand inside: they become `[[` and `]]`. No text can thus close its own fence.
"""

import re
from collections.abc import Sequence

from steelyard.domain.record import sha256
from steelyard.formulas.secrets import redact_text

MARGIN = 8 * 1024  # read past a cut, so that a secret that stands across it is still seen whole
MARK_LENGTH = 16
_BRACKETS = str.maketrans({"⟦": "[[", "⟧": "]]"})
# Control characters, and what is invisible or turns the direction of text: all of it can hide words from people.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    r"""The text with every hidden character written as an escape: `\x1b`, `\u200b`, `\U000e0041`."""
    return _HIDDEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code == 13:
        return "\\r"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean(text: str, secrets: Sequence[str] = ()) -> str:
    """The whole text without secrets, visible, and without a fence's brackets."""
    return visible(redact_text(text, secrets)).translate(_BRACKETS)


def middle_cut(text: str, limit: int, secrets: Sequence[str] = (), what: str = "") -> str:
    """The text cleaned; past `limit` characters only its first and last half, with what was cut counted between."""
    if len(text) <= limit:
        return shorten(clean(text, secrets), limit, what)
    half = limit // 2
    head, tail = clean(text[: half + MARGIN], secrets)[:half], clean(text[-(half + MARGIN) :], secrets)[-half:]
    lines = text.count("\n", half, len(text) - half)
    note = f"[… {len(text) - 2 * half:,} of {len(text):,} characters ({lines:,} lines){what} were cut here …]"
    return f"{head}\n{note}\n{tail}"


def shorten(shown: str, limit: int, what: str = "") -> str:
    """A text that is clean already, cut in the middle: escapes and marks may have made it longer than it was."""
    if len(shown) <= limit:
        return shown
    half = limit // 2
    note = f"[… {len(shown) - 2 * half:,} of {len(shown):,} characters{what} were cut here …]"
    return f"{shown[:half]}\n{note}\n{shown[-half:] if half else ''}"


def tail_cut(text: str, limit: int, secrets: Sequence[str] = ()) -> str:
    """The text cleaned; past `limit` characters only its end, with what was cut counted before it."""
    shown = clean(text if len(text) <= limit else text[-(limit + MARGIN) :], secrets)
    if len(text) <= limit and len(shown) <= limit:
        return shown
    return f"[… about {max(len(text), len(shown)) - limit:,} characters were cut before this …]\n{shown[-limit:]}"


def mark_of(kind: str, texts: Sequence[str]) -> str:
    """A name that looks random, is the same for the same texts, and stands in none of them."""
    joined = "\0".join(texts)
    digest = sha256(joined)
    number = 0
    while (mark := sha256(f"{kind} {number} {digest}")[:MARK_LENGTH]) in joined:
        number += 1
    return mark


def fenced(name: str, text: str, mark: str) -> str:
    """A part between its marks; `text` is clean already."""
    return f"⟦begin {mark} {name}⟧\n{text.rstrip()}\n⟦end {mark} {name}⟧"
