"""What JavaScript tests ask for, in calls with plain arguments and plain results."""

import json
import re
from collections.abc import Iterator
from typing import Any

_CALL = r"(?:\w+\.)?(?P<name>\w+)\((?P<args>[^()]*)\)"
_ASSERT = re.compile(rf"assert(?:\.\w+)?\(\s*{_CALL}\s*(?:,|===?)\s*(?P<value>[^()]+?)\s*\)")
_EXPECT = re.compile(rf"expect\(\s*{_CALL}\s*\)\.(?:toBe|toEqual|toStrictEqual)\(\s*(?P<value>[^()]*?)\s*\)")
_QUOTED = re.compile(r"'((?:[^'\\\"]|\\.)*)'")
_KEY = re.compile(r"([{,]\s*)([A-Za-z_]\w*)\s*:")


def cases_of(text: str) -> Iterator[tuple[str, str, Any]]:
    """The name of a function, its arguments as JSON, and what it must return."""
    for pattern in (_ASSERT, _EXPECT):
        for match in pattern.finditer(text):
            said = match["value"]
            args = _plain(f"[{match['args']}]")
            value = _plain(said) or _plain(said.rpartition(",")[0])  # a message may stand after it
            if args is not None and value is not None:
                yield match["name"], json.dumps(args[0], separators=(",", ":")), value[0]


def _plain(text: str) -> tuple[Any] | None:
    """A literal's value, in a tuple of one."""
    try:
        return (json.loads(_KEY.sub(r'\1"\2":', _QUOTED.sub(r'"\1"', text))),)
    except (ValueError, RecursionError):
        return None
