"""The text of a Python file in the encoding it declares, as the interpreter reads it."""

import codecs
import re
import warnings

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_PLAIN = re.compile(rb"[ \t\f]*(?:#.*)?\r?$")
_SLOW = frozenset({"punycode", "idna"})  # nobody writes code in them, and they take quadratic time
UNREAD = "declares an encoding that can't be read"


def declared(raw: bytes) -> str:
    """The encoding that a comment in the first two lines names, under Python's own name for it; empty where none does.

    A name that Python does not know is given back as it is written.
    """
    if raw.startswith(codecs.BOM_UTF8):
        return ""
    for line in re.split(rb"\r\n|\r|\n", raw, maxsplit=2)[:2]:
        cookie = _COOKIE.match(line)
        if cookie is not None:
            name = cookie.group(1).decode("ascii", "replace")
            try:
                return codecs.lookup(name).name
            except (LookupError, ValueError):
                return name
        if _PLAIN.match(line) is None:
            break
    return ""


def decoded(raw: bytes, name: str) -> str | None:
    """The text by this encoding; None where Python can't read it either."""
    if name in _SLOW:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an escape that means nothing
            return raw.decode(name)
    except (LookupError, ValueError, TypeError, ArithmeticError):
        return None
