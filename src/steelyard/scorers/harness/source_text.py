"""The text of a file as what reads it would decode it: Python's sources name their encoding themselves (PEP 263)."""

import codecs
import re

from steelyard.scorers.harness.model import Bend, excerpt

_COOKIE = re.compile(rb"[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_EMPTY = re.compile(rb"[ \t\f]*(?:#|$)")
# Encodings in which the letters of the code look like themselves. Escapes (unicode_escape, utf-7) make others of them.
_USUAL = re.compile(
    r"utf-8(?:-sig)?|ascii|iso8859-\d+|cp(?:437|7\d\d|8(?!75)\d\d|125\d|932|949|950|65001)|koi8-\w|mac-\w+|gbk|gb2312|gb18030"
    r"|big5\w*|euc_\w+|shift_jis\w*|tis-620|ptcp154|johab"
)
_PYTHON = (".py", ".pyw")


def cookie(raw: bytes) -> str:
    """The encoding that a Python source names in its first two lines; nothing when it names none."""
    lines = raw.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n", 2)[:2]
    for line in lines:
        found = _COOKIE.match(line)
        if found is not None:
            return found[1].decode("ascii", "replace")
        if not _EMPTY.match(line):
            break
    return ""


def _codec(name: str) -> str:
    """The codec's own name for an encoding; nothing for one that is not known, or makes no text."""
    try:
        info = codecs.lookup(name)
        "".encode(name)  # a codec from bytes to bytes refuses
    except (LookupError, ValueError, UnicodeError):
        return ""
    return info.name


def text_of(raw: bytes, path: str) -> str:
    """What Python, or any other reader, would see."""
    if not path.endswith(_PYTHON):
        return raw.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\0", " ")
    name = _codec(cookie(raw) or "utf-8")
    name = "utf-8-sig" if name in ("", "utf-8") else name
    try:
        text = raw.decode(name, "replace")
    except (ValueError, UnicodeError):
        text = raw.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")


def encoding_bends(path: str, before: bytes, after: bytes) -> list[Bend]:
    """A source that now names an encoding which shows other text than Python sees."""
    if not path.endswith(_PYTHON):
        return []
    was, now = cookie(before), cookie(after)
    if not now or now == was or _USUAL.fullmatch(_codec(now)):
        return []
    said = "its encoding makes other code of it than what one reads"
    return [Bend("source-encoding", 1, said, excerpt(was) or None, excerpt(f"coding: {now}"))]
