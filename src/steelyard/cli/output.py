"""How commands answer: one JSON document for programs, tables and colours for people on a terminal."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

_kept: list[TextIO] = []


@contextmanager
def only_answers() -> Iterator[None]:
    """Keep stdout for `answer`: what anybody else prints meanwhile, such as an installed scorer, goes to stderr."""
    stdout, sys.stdout = sys.stdout, sys.stderr
    _kept.append(stdout)
    try:
        yield
        stdout.flush()
    finally:
        sys.stdout = _kept.pop()


def answer(text: str, *, now: bool = False) -> None:
    """Part of the answer itself, on stdout; `now`: somebody waits for it."""
    stream = _kept[-1] if _kept else sys.stdout
    stream.write(text)
    if now:
        stream.flush()


def emit_json(document: Any) -> None:
    """Print one JSON document on stdout, and nothing else."""
    answer(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def say(text: str = "") -> None:
    """A line for people on stdout, with control characters that an agent may have written made visible."""
    sys.stdout.write(plain(text) + "\n")


def note(text: str) -> None:
    """A line for people on stderr: progress, warnings, hints. Where it can't be written, nobody reads it."""
    with suppress(OSError):
        sys.stderr.write(plain(text) + "\n")


def plain(text: str) -> str:
    """Text without terminal codes: control characters other than newline and tab are shown as escapes."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )
