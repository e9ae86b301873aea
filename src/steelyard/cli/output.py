"""How commands answer: one JSON document for programs, tables and colours for people on a terminal."""

import json
import sys
from typing import Any


def emit_json(document: Any) -> None:
    """Print one JSON document on stdout, and nothing else."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def say(text: str = "") -> None:
    """A line for people on stdout, with control characters that an agent may have written made visible."""
    sys.stdout.write(plain(text) + "\n")


def note(text: str) -> None:
    """A line for people on stderr: progress, warnings, hints."""
    sys.stderr.write(plain(text) + "\n")


def plain(text: str) -> str:
    """Text without terminal codes: control characters other than newline and tab are shown as escapes."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )
