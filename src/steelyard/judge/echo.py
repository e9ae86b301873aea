"""Telling a judge's own words from an echo: a reply that only repeats an object that stands in the evidence."""

import json
import re
from typing import Any

from steelyard.domain.record import JsonObject

OWN_WORDS = 24  # letters and digits in a row that nobody repeats by chance
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_REST = re.compile(r"[\W_]+")


def echoes(value: JsonObject, evidence: str) -> bool:
    """Whether every field of an object, or its reasoning, stands in the evidence too, however it is written there.

    Only letters and digits are compared: escapes, line marks of a diff, other spacing and another order change nothing.
    """
    seen = _bare(evidence)
    reasoning = _bare(_text(value.get("reasoning", "")))
    if len(reasoning) >= OWN_WORDS and reasoning in seen:
        return True
    return all(_bare(f"{name} {_text(part)}") in seen for name, part in value.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bare(text: str) -> str:
    return _REST.sub("", _ESCAPE.sub("", text)).lower()
