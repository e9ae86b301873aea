"""Mends a piece of a file that was cut inside a long string or comment, so that its line rules read code as code.

A hunk may begin or end inside a template string or a comment. Read from its first character on, everything after such a
cut is taken for its opposite. Each quote says by its surroundings whether it opens or closes; where that contradicts
what came before, the text was cut in between.
"""

import re
from collections.abc import Iterator

# The delimiter of strings that go over several lines, and what is removed before its occurrences are counted.
_LONG = {
    "javascript": ("`", re.compile(r"\\.|'(?:\\.|[^'\\\n`])*'|\"(?:\\.|[^\"\\\n`])*\"|(?<!:)//[^\n`]*$")),
    "go": ("`", re.compile(r"'`'|\"(?:\\.|[^\"\\\n`])*\"|//[^\n`]*$")),
    "java": ('"""', re.compile(r"\\.")),
    "rust": ('"', re.compile(r"\\.|b?'\"'|//[^\n\"]*$")),
}
_LONG["typescript"] = _LONG["tsx"] = _LONG["javascript"]
_LONG["kotlin"] = _LONG["csharp"] = _LONG["java"]
LONGEST = 200
_OPENS = re.compile(r"(?:[(=,\[{+?&|>!]|=>|return|\b[rR]#*|\$|@)[ \t]*$|(?:[(=,\[]|return)[ \t]*\w*$")
_CLOSES = re.compile(r"#*[ \t]*(?:[)\],;.}].*|)$")
_STATEMENT = re.compile(
    r"[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+\(|class[ \t]+\w+[(:]|@\w+(?:\.\w+)+|assert[ \t]+[\w.\[(\"'{]+.*[=(])"
)
_STARRED = re.compile(r"[ \t]*\*")


def mended(family: str, text: str) -> str:
    """The text with what stands in cut strings and comments emptied; lines keep their numbers."""
    if family == "ruby":
        return text
    lines = text.split("\n")
    if family == "python":
        for quote in ('"""', "'''"):
            if quote in text:
                _docstrings(lines, quote)
        return "\n".join(lines)
    if "/*" in text or "*/" in text:
        _comments(lines)
    given = _LONG.get(family)
    if given is not None and given[0] in text:
        _strings(lines, *given)
    return "\n".join(lines)


def _docstrings(lines: list[str], quote: str) -> None:
    """Closes a docstring whose end was cut off: code follows it, which no docstring holds."""
    inside, since = False, -1
    for index, line in enumerate(lines):
        if since >= 0 and _STATEMENT.match(line) and not _ends_alike(lines, since, index, quote):
            lines[since] += quote
            inside, since = False, -1
        if line.count(quote) % 2 == 1:
            inside = not inside
            since = index if inside and line.lstrip("rRbBuU \t").startswith(quote) else -1


def _ends_alike(lines: list[str], since: int, index: int, quote: str) -> bool:
    """Whether the next quotes stand right below the first and nothing left of them: then all of it is a string."""
    end = next((line for line in lines[index : index + LONGEST] if quote in line), "")
    return bool(end) and _indent(end) == _indent(lines[since]) <= _indent(lines[index])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _comments(lines: list[str]) -> None:
    """Closes a starred comment whose end was cut off, and empties one whose beginning was."""
    opened = starred = False
    for index, line in enumerate(lines):
        begin, end = line.rfind("/*"), line.rfind("*/")
        if starred and not _STARRED.match(line):
            lines[index - 1] += " */"
            opened = starred = False
        if not opened and end >= 0 and begin < 0 and _STARRED.match(line):
            _empty_starred(lines, index, end)
        if end > begin:
            opened = starred = False
        elif begin >= 0:
            opened, starred = True, line.startswith("/**", begin)
    if starred:
        lines[-1] += " */"


def _empty_starred(lines: list[str], last: int, closed: int) -> None:
    first = last
    while first > 0 and _STARRED.match(lines[first - 1]):
        first -= 1
    if "/*" in lines[first - 1 if first else 0]:
        return
    for index in range(first, last):
        lines[index] = ""
    lines[last] = lines[last][closed + 2 :]


def _strings(lines: list[str], quote: str, noise: re.Pattern[str]) -> None:
    """Empties the head of a string that was cut off before it, and closes one that was cut off after its first line."""
    inside, since = False, 0
    for index, before, after in _toggles(lines, quote, noise):
        opens = _OPENS.search(before) is not None
        closes = not opens and _CLOSES.match(after) is not None and (not before.strip() or quote == '"""')
        if inside and opens and not _CLOSES.match(after):
            lines[since] += quote
            since = index
        elif not inside and closes:
            for gone in range(_head(lines, since, index), index):
                lines[gone] = ""
            lines[index] = after
            since = index + 1
        else:
            inside = not inside
            since = index if inside else index + 1


def _head(lines: list[str], since: int, last: int) -> int:
    """Where the rest of a string begins that ends on this line: its text is indented more than its end, if that is."""
    level = _indent(lines[last])
    first = last
    while first > since:
        above = lines[first - 1]
        if level and above.strip() and _indent(above) <= level:
            break
        first -= 1
    return first


def _toggles(lines: list[str], quote: str, noise: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """Lines with an odd number of quotes, and what stands before and after the one that is over."""
    for index, line in enumerate(lines):
        if quote not in line or len(line) > 4000:
            continue
        parts = noise.sub(lambda found: "_" * len(found.group()), line).split(quote)
        if len(parts) % 2 == 0:
            before, after = (parts[0], parts[-1]) if not parts[0].strip() else (quote.join(parts[:-1]), parts[-1])
            yield index, before, after
