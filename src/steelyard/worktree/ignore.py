"""Git's ignore rules, as the baseline had them: what an agent writes into a `.gitignore` later hides nothing.

They are matched here and not by git, so that a run that changes nothing needs no process; a test compares the two.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

BUILT_IN = b"**/__pycache__/*.pyc\n**/__pycache__/*.pyc.[0-9]*\n.pytest_cache/\n"
"""What Python leaves behind when tests run; a `!` line in the baseline's own rules brings it back."""

_REMEMBERED = 20_000
_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"\x21-\x2f:-@\[-`{-~",
    b"space": rb" \t\n\r\f\v",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a `.gitignore`."""

    matches: re.Pattern[bytes]
    negated: bool
    directories_only: bool
    by_name: bool


class IgnoreRules:
    """All `.gitignore` files of a baseline, by the directory they stand in (`""` or `a/b/`)."""

    def __init__(self, files: Mapping[str, bytes], built_in: bytes = BUILT_IN) -> None:
        self._rules = {where: rules for where, text in files.items() if (rules := parse(text))}
        self._order = sorted(self._rules, key=len, reverse=True)
        self._built_in = parse(built_in)
        self._directories: dict[str, bool] = {"": False}

    def ignores(self, path: str, is_directory: bool = False) -> bool:
        """Whether a path that is not in the baseline is left out; below an ignored directory everything is."""
        parent = path[: path.rfind("/") + 1]
        return self._ignores_directory(parent) or self._decide(path, parent, is_directory)

    def _ignores_directory(self, prefix: str) -> bool:
        if len(self._directories) > _REMEMBERED:  # thousands of runs share these rules, and agents invent names
            self._directories = {"": False}
        known = self._directories
        missing = []
        while prefix not in known:
            missing.append(prefix)
            prefix = prefix[: prefix.rfind("/", 0, -1) + 1]
        answer = known[prefix]
        for below in reversed(missing):
            answer = answer or self._decide(below[:-1], prefix, True)
            known[below] = answer
            prefix = below
        return answer

    def _above(self, parent: str) -> list[str]:
        """Where rules stand that count below `parent`, the nearest first."""
        if len(self._order) <= 16:
            return [where for where in self._order if parent.startswith(where)]
        ends = [at + 1 for at, char in enumerate(parent) if char == "/"]
        return [parent[:end] for end in (*reversed(ends), 0) if parent[:end] in self._rules]

    def _decide(self, path: str, parent: str, is_directory: bool) -> bool:
        name = os.fsencode(path[len(parent) :])
        for where in self._above(parent):
            below = os.fsencode(path[len(where) :])
            for rule in self._rules[where]:
                if _matches(rule, name, below, is_directory):
                    return not rule.negated
        whole = os.fsencode(path)
        return any(_matches(rule, name, whole, is_directory) for rule in self._built_in)


def _matches(rule: Rule, name: bytes, below: bytes, is_directory: bool) -> bool:
    if rule.directories_only and not is_directory:
        return False
    return rule.matches.fullmatch(name if rule.by_name else below) is not None


def parse(text: bytes) -> tuple[Rule, ...]:
    """The rules of a `.gitignore`, the last line first, because the last line that matches decides."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    rules = [_rule(line.removesuffix(b"\r")) for line in text.split(b"\n")]
    return tuple(rule for rule in reversed(rules) if rule is not None)


def _rule(line: bytes) -> Rule | None:
    if line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line)
    negated = line.startswith(b"!")
    line = line[1:] if negated else line
    directories_only = line.endswith(b"/")
    line = line[:-1] if directories_only else line
    by_name = b"/" not in line
    if not by_name and line.startswith(b"/"):
        line = line[1:]
    if not line:
        return None
    pattern = translate(line, by_name)
    return None if pattern is None else Rule(pattern, negated, directories_only, by_name)


def _without_trailing_spaces(line: bytes) -> bytes:
    end = len(line)
    while end and line[end - 1 : end] == b" ":
        end -= 1
    kept = line[:end]
    slashes = len(kept) - len(kept.rstrip(b"\\"))
    return line[: end + 1] if slashes % 2 and end < len(line) else kept


def translate(glob: bytes, by_name: bool) -> re.Pattern[bytes] | None:
    """Git's wildmatch as a regular expression; None for a pattern that can match nothing."""
    out: list[bytes] = []
    at, size = 0, len(glob)
    # Git compares what stands before the first special character by itself: a `**` right behind it counts as a start.
    start = next((i for i, c in enumerate(glob) if c in b"*?[\\"), size)
    while at < size:
        char = glob[at : at + 1]
        if char == b"*":
            end = at
            while glob[end : end + 1] == b"*":
                end += 1
            alone = (at == start or glob[at - 1 : at] == b"/") and (end == size or glob[end : end + 1] == b"/")
            if end - at > 1 and alone and not by_name:
                slash = end < size
                out.append(b"(?:.*/)?" if slash else b".*")
                at = end + 1 if slash else end
            else:
                out.append(b".*" if by_name else b"[^/]*")
                at = end
        elif char == b"?":
            out.append(b"[^/]")
            at += 1
        elif char == b"[":
            found = _bracket(glob, at)
            if found is None:
                return None
            out.append(found[0])
            at = found[1]
        elif char == b"\\":
            if at + 1 == size:
                return None
            out.append(re.escape(glob[at + 1 : at + 2]))
            at += 2
        else:
            out.append(re.escape(char))
            at += 1
    return re.compile(b"".join(out), re.DOTALL)


def _bracket(glob: bytes, at: int) -> tuple[bytes, int] | None:
    """A character class that starts at `at`, and where it ends; None when it never ends or is not understood."""
    at += 1
    negated = glob[at : at + 1] in (b"!", b"^")
    at += negated
    parts: list[bytes] = []
    first = True
    while first or glob[at : at + 1] != b"]":
        first = False
        if at >= len(glob):
            return None
        if glob[at : at + 2] == b"[:" and (close := glob.find(b":]", at)) > 0:
            name = glob[at + 2 : close]
            if name not in _CLASSES:
                return None
            parts.append(_CLASSES[name])
            at = close + 2
            continue
        low, at = _one(glob, at)
        high = low
        if glob[at : at + 1] == b"-" and glob[at + 1 : at + 2] not in (b"", b"]"):
            high, at = _one(glob, at + 1)
        if low <= high:
            parts.append(b"\\x%02x-\\x%02x" % (low, high))
    inside = b"".join(parts)
    if not inside:
        return (b"[^/]" if negated else b"[^\\x00-\\xff]"), at + 1
    return (b"[^/%s]" % inside if negated else b"(?!/)[%s]" % inside), at + 1


def _one(glob: bytes, at: int) -> tuple[int, int]:
    if glob[at : at + 1] == b"\\" and at + 1 < len(glob):
        at += 1
    return glob[at], at + 1
