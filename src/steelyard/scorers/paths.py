"""What a suite may write as a path or a pattern, and how patterns are matched."""

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, Field

from steelyard.domain.diff import printable

SHOWN = 20


def _inside(value: str) -> str:
    if not value or value.strip() == "":
        raise ValueError("must not be empty")
    if "\0" in value:
        raise ValueError("must not hold a NUL character")
    if value.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", value):
        raise ValueError(f"'{value}' must be relative to the tree: absolute paths are refused")
    if ".." in value.split("/"):
        raise ValueError(f"'{value}' must stay in the tree: '..' is refused")
    return value


def _exact(value: str) -> str:
    parts = [part for part in _inside(value).split("/") if part not in ("", ".")]
    if not parts or value.endswith("/"):
        raise ValueError(f"'{value}' must name a file, relative to the tree")
    return "/".join(parts)


RelativePath = Annotated[str, AfterValidator(_exact)]
RelativePaths = Annotated[tuple[RelativePath, ...], Field(min_length=1)]
Patterns = Annotated[tuple[Annotated[str, AfterValidator(_inside)], ...], Field(min_length=1)]


@lru_cache(maxsize=256)
def compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all patterns: `fnmatch`, case-sensitive, on the whole path; `*` crosses `/`."""
    return re.compile("|".join(translate(pattern) for pattern in patterns))


def matching(patterns: tuple[str, ...], paths: Iterable[str]) -> list[str]:
    """The paths that match at least one pattern, in order."""
    match = compiled(patterns).match
    return [path for path in paths if match(path)]


def listed(paths: Iterable[str]) -> str:
    """Paths in one line for people; a long list is cut and counted."""
    names = [printable(path) for path in paths]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def files(count: int, what: str = "file") -> str:
    """`1 file`, `2 files`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
