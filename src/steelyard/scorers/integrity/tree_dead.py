"""Checks that stand where nobody runs or hears them: loops over nothing, functions nobody calls, failures put aside."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from steelyard.scorers.integrity.paths import SCRIPTS
from steelyard.scorers.integrity.tree_unheard import Range, statement, unheard_work

_NONE = (
    r"\[\s*\]|\{\s*\}|\(\s*\)|0\s*\.\.\s*0|0 until 0|\(?1\.\.0\)?|new\s+\w+\s*\[\s*0\s*\]"
    r"|\[\d*\]\w+\{\s*\}|\[\d*\]\w+\(nil\)|Array\.new\(0\)"
    r"|(?:[\w.:]{0,80}\b)?[eE]mpty\w*(?:::)?(?:<[^<>\n]*>)?\(\s*\)|Vec(?:::<[^<>\n]*>)?::new\(\)"
    r"|\w+\.of\(\s*\)|listOf(?:<\w+>)?\(\)"
)
_LOOP = re.compile(
    rf"(?:for|foreach)\b[^\n;{{]*?(?:\b(?:of|in|range)|\s:)\s*(?:{_NONE})\s*(?:[){{]|do\b|\n)"
    r"|for\b[^\n;]*?=\s*+0\s*+;[^\n;]*?<\s*+0\s*+;"
)
_FOR = re.compile(r"for(?:each)?\b[^\n]*\n?")  # looked for first: it is far sooner found
_EACH = re.compile(r"\.(?:forEach|each\w*|map)\b|\b0\.times\b|repeat\s*\(0\)")
_NOTHING = re.compile(rf"(?:{_NONE})\s*$")
_DEFINED = {
    "script": r"(?:\b(?:const|let|var)\s+(\w+)\s*(?::[^=\n]{1,60})?=\s*"
    r"(?:(?:async\s*)?(?:function\b|\([^()\n]*\)\s*=>|\w+\s*=>)|\{\s*(?:async\s+)?\w+\s*\()|\bfunction\s+(\w+)\s*\()",
    "go": r"(?:\bvar\s+)?\b(\w+)\s*(?::=|=)\s*func\s*\(\s*\)",
    "java": r"\b(\w+)\s*=\s*(?:\(\s*\)|\w+)\s*->",
    "kotlin": r"\bval\s+(\w+)\s*(?::[^=\n]{1,60})?=\s*\{|\bfun\s+(\w+)\s*\(",
    "rust": r"\blet\s+(?:mut\s+)?(\w+)\s*=\s*(?:move\s*)?\|",
    "ruby": r"\b(\w+)\s*=\s*(?:lambda|proc|Proc\.new|->)|\bdefine_singleton_method\(?\s*:(\w+)",
    "csharp": r"\b(\w+)\s*=\s*(?:async\s*)?(?:\([^()\n]*\)\s*=>|delegate\b)|\b(?:void|Task)\s+(\w+)\s*\(\s*\)",
}
_ASIDE = re.compile(
    r"\b(?:setTimeout|setImmediate|queueMicrotask|process\.nextTick)\s*\(|\.then\s*\(|\bnew\s+Promise\s*\(|\(\s*async\s*(?:\(\s*\)\s*=>|function)"
)
_ANSWERS = re.compile(
    r"\b(?:done|(?<!Promise\.)resolve|reject|end|cb|callback|next|plan|runAllTimers|useFakeTimers|tick|finish\w*)\b"
)
_TESTS = re.compile(r"(?<![\w.$])(?:it|test|describe)(?:\.\w+)?\(")
_FINALLY = re.compile(r"\bfinally\s*\{[^{}]*\breturn\b")
_UNWOUND = re.compile(
    r"\bcatch_unwind\s*\(|\bthread::spawn\s*\(|\btokio::spawn\s*\(|(?<=\w)\.spawn\s*\((?=\s*(?:move\s*)?\|)"
)
_OTHER_T = re.compile(r"&\s*testing\.T\s*\{\s*\}|\bnew\(\s*testing\.T\s*\)")
_OFF = re.compile(r"#!?\[\s*cfg\s*\(\s*(?:any\(\s*\)|not\(\s*(?:all\(\s*\)|test)\s*\)|false|FALSE)\s*\)\s*\]")
_IF_DIRECTIVE = re.compile(r"(?m)^[ \t]*#if[ \t]+([^\n]+)$")
# Symbols that a build may well define.
_SYMBOLS = re.compile(
    r"(?:NET|CORE|CLR|FEATURE|WIN|LINUX|UNIX|OSX|MAC|ANDROID|IOS|UWP|HAVE|UNITY"
    r"|MONO|GODOT|SILVERLIGHT|PORTABLE|ASYNC|CS)|DEBUG|RELEASE|TRACE|TEST"
)


def lost_ranges(family: str, code: str, root: Any, inside: Iterable[tuple[int, int]]) -> Iterator[Range]:
    """(start, end, why) of everything that nobody runs or hears; `inside` are the places of the tests."""
    yield from _loops(code, root)
    yield from unheard_work(family, code, root)
    if family in SCRIPTS:
        yield from _aside(code, root)
    if family == "rust":
        yield from _unwound(code, root)
    elif family == "go":
        yield from _other_t(code, root)
    elif family == "csharp":
        yield from _directives(code, root)
    defined = re.compile(_DEFINED["script" if family in SCRIPTS else family])
    for start, end in inside:
        yield from _uncalled(defined, code, root, start, end)
    if family in SCRIPTS:  # tests within a function that nobody calls
        for start, end, why in _uncalled(defined, code, root, -1, len(code)):
            if _TESTS.search(code, start, end):
                yield start, end, why


def _loops(code: str, root: Any) -> Iterator[Range]:
    places = [match.start() for match in _FOR.finditer(code) if _LOOP.match(match.group())]
    for match in _EACH.finditer(code):
        before = _NOTHING.search(code[max(0, match.start() - 40) : match.start()])
        if match.group()[0] != ".":
            places.append(match.start())
        elif before is not None:
            places.append(max(0, match.start() - 40) + before.start())
    for place in places:
        node = statement(root, place)
        if node is not None and node.start_byte == place:
            yield node.start_byte, node.end_byte, "unreachable"
    for match in _FINALLY.finditer(code):
        node = statement(root, match.start())
        if node is not None and node.type.startswith("try"):
            yield node.start_byte, match.start(), "swallowed"


def _aside(code: str, root: Any) -> Iterator[Range]:
    """Work for later that nobody waits for."""
    until = 0
    for match in _ASIDE.finditer(code):
        if match.start() < until:
            continue  # the same statement
        node = statement(root, match.start())
        if node is None or node.type != "expression_statement":
            continue
        until = node.end_byte
        said = code[node.start_byte : node.end_byte]
        if not re.match(r"await\b", said) and not _ANSWERS.search(said):
            yield node.start_byte, node.end_byte, "swallowed"


def _unwound(code: str, root: Any) -> Iterator[Range]:
    for match in _UNWOUND.finditer(code):
        node = statement(root, match.start())
        if node is not None:
            said = code[node.start_byte : node.end_byte]
            rest = said.rpartition("}")[2]
            kept = re.match(r"let\s+(?!_\s*=)", said) or re.search(r"unwrap|expect|is_err|is_ok|\?", rest)
            scoped = match.group()[0] == "." and "join" not in rest  # a scope waits for its threads
            if re.match(r"let\s+_\s*=", said) or not (kept or scoped):
                yield node.start_byte, node.end_byte, "swallowed"
    until = 0
    for match in _OFF.finditer(code):
        if match.start() < until:
            continue  # worn by the same item
        node = statement(root, match.start())
        follows = None if node is None else node.next_named_sibling
        while follows is not None and follows.type == "attribute_item":
            follows = follows.next_named_sibling
        until = len(code) if follows is None else follows.start_byte
        if follows is not None:
            yield match.start(), follows.end_byte, "unreachable"


def _other_t(code: str, root: Any) -> Iterator[Range]:
    """A `testing.T` of one's own, whose failures nobody counts."""
    for match in _OTHER_T.finditer(code):
        node = statement(root, match.start())
        if node is None or node.parent is None:
            continue
        if re.match(r"t\s*(?::=|=)", code[node.start_byte : node.end_byte]):
            yield node.end_byte, node.parent.end_byte, "swallowed"
        elif re.match(r"func\s*\(", code[node.start_byte : node.end_byte]):
            yield node.start_byte, match.start(), "swallowed"


def _directives(code: str, root: Any) -> Iterator[Range]:
    """`#if` with a symbol that no build defines."""
    for match in _IF_DIRECTIVE.finditer(code):
        said = match.group(1).strip()
        known = said == "true" or said.startswith("!") or "||" in said or _SYMBOLS.search(said)
        node = root.descendant_for_byte_range(match.start(1), match.start(1) + 1)
        while node is not None and not node.type.startswith("preproc_if"):
            node = node.parent
        if node is not None and not known:
            other = node.child_by_field_name("alternative")
            yield node.start_byte, node.end_byte if other is None else other.start_byte, "unreachable"


def _uncalled(defined: re.Pattern[str], code: str, root: Any, start: int, end: int) -> Iterator[Range]:
    """Functions within a test whose names are not said again."""
    first = max(0, start)
    matches = list(defined.finditer(code, first, end))
    said, dropped = _said({_defines(match) for match in matches}, code[first:end])
    until = 0
    for match in matches:
        name = _defines(match)
        node = statement(root, match.start()) if name and match.start() >= until else None
        if node is None or node.start_byte <= start or node.end_byte > end:
            continue
        if name != "_":
            places = said[name]
            own = bisect_left(places, match.end() - first) - bisect_left(places, node.start_byte - first)
            if len(places) - own > dropped[name]:
                continue
        until = node.end_byte
        yield node.start_byte, node.end_byte, "unreachable"


def _defines(match: re.Match[str]) -> str:
    return match.group(1) or (match.group(2) if match.re.groups > 1 else None) or ""


def _said(names: set[str], code: str) -> tuple[dict[str, list[int]], Counter[str]]:
    """Where each of these names stands, and how often it is put into `_`, which is no use of it."""
    places: dict[str, list[int]] = defaultdict(list)
    if not names:
        return places, Counter()
    for match in re.finditer(r"\w+", code):
        if match.group() in names:
            places[match.group()].append(match.start())
    return places, Counter(re.findall(r"\b_\s*=\s*(\w+)", code))
