"""The text of a file as what reads it would decode it: Python's sources name their encoding themselves (PEP 263)."""

import re

from steelyard.scorers.encodings import declared, decoded
from steelyard.scorers.harness.model import Bend, excerpt

# Encodings in which the letters of the code look like themselves. Escapes (unicode_escape, utf-7) make others of them.
_USUAL = re.compile(
    r"utf-8(?:-sig)?|ascii|iso8859-\d+|cp(?:437|7\d\d|8(?!75)\d\d|125\d|932|949|950|65001)|koi8-\w|mac-\w+|gbk|gb2312|gb18030"
    r"|big5\w*|euc_\w+|shift_jis\w*|tis-620|ptcp154|johab"
)
_PYTHON = (".py", ".pyw")


def text_of(raw: bytes, path: str) -> str:
    """What Python, or any other reader, would see."""
    if not path.endswith(_PYTHON):
        return raw.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\0", " ")
    name = declared(raw)
    text = decoded(raw, name) if name else None
    if text is None:
        text = raw.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")


def encoding_bends(path: str, before: bytes, after: bytes) -> list[Bend]:
    """A source that now names an encoding which shows other text than Python sees."""
    if not path.endswith(_PYTHON):
        return []
    was, now = declared(before), declared(after)
    if not now or now == was or _USUAL.fullmatch(now):
        return []
    said = "its encoding makes other code of it than what one reads"
    return [Bend("source-encoding", 1, said, excerpt(was) or None, excerpt(f"coding: {now}"))]
