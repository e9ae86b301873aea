"""Reads tests of the other languages: line rules find the places, the syntax tree says what they are."""

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from steelyard.scorers.integrity.grammars import Loaded, load
from steelyard.scorers.integrity.lines import RULES, line_view
from steelyard.scorers.integrity.model import TOO_LARGE, Check, Mark, TestCase, View
from steelyard.scorers.integrity.strength import strength_of, subjects_of, tolerance_of
from steelyard.scorers.integrity.tree_flow import dead_ranges
from steelyard.scorers.integrity.tree_tests import Region, marks_tests, regions

MAX_BYTES = 300_000
MAX_NESTING = 400
BLOCKS = frozenset({
    "statement_block", "block", "program", "source_file", "body_statement", "statement_list", "do_block", "then",
    "arrow_function", "lambda_expression", "function_body", "class_body", "declaration_list", "compilation_unit",
    "switch_case", "lambda_literal", "statements", "else", "ensure", "begin", "control_structure_body", "token_tree",
    "closure_expression", "local_function_statement", "arrow_expression_clause", "block_body",
})  # fmt: skip
_OPTION = re.compile(r"(?:skip|todo|only)[ \t]*:")
_TEST_CALL = re.compile(r"(?:\w{1,4}\.)?[fx]?(?:it|test|describe|suite|context|specify)\b")


@dataclass(frozen=True, slots=True)
class Trees:
    """The analyser of one family that tree-sitter reads."""

    family: str

    def context(self, text: str) -> str:
        """Whether tests are marked or go by their names; all else is told by its own name."""
        if self.family != "java":
            return ""
        return "marks tests" if marks_tests(text) else "names tests"

    def view(self, text: str, context: str = "") -> View:
        """By syntax; by line rules where the text does not parse or the grammar is not installed."""
        loaded = load(self.family)
        if loaded is None:
            return self.lines(text, "no grammar installed (pip install 'steelyard[syntax]')")
        raw = text.encode("utf-8", "replace")
        if len(raw) > MAX_BYTES:
            return self.lines(text, TOO_LARGE)
        if _deep(raw):
            return self.lines(text, "nested too deep to parse")
        tree = _parse(loaded, raw)
        if tree is None or tree.root_node.has_error:
            return self.lines(text, "does not parse")
        return _Reading(self.family, loaded, raw, tree.root_node).view(context or self.context(text))

    def lines(self, text: str, note: str = "") -> View:
        """By line rules alone."""
        seen = line_view(self.family, text, note)
        return replace(seen, checks=tuple(replace(check, strength=strength_of(check.text)) for check in seen.checks))


def _deep(raw: bytes) -> bool:
    if max(raw.count(b"("), raw.count(b"["), raw.count(b"{")) <= MAX_NESTING:
        return False
    depth = deepest = 0
    for match in re.finditer(rb"[()\[\]{}]", raw):
        depth = depth + 1 if match.group() in b"([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest > MAX_NESTING


def _parse(loaded: Loaded, raw: bytes) -> Any:
    from tree_sitter import Parser

    try:
        return Parser(loaded.language).parse(raw)
    except (ValueError, MemoryError):
        return None


class _Reading:
    """One text with its tree: `code` is the text with strings and comments blanked, byte for byte."""

    def __init__(self, family: str, loaded: Loaded, raw: bytes, root: Any) -> None:
        from tree_sitter import QueryCursor

        self.family, self.raw, self.root = family, raw, root
        self.captures: dict[str, list[Any]] = QueryCursor(loaded.query).captures(root)
        self.code = _blank(raw, self.captures.get("quiet", [])).decode("latin-1")
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.code))]

    def view(self, context: str) -> View:
        """Everything that was seen."""
        tests = regions(self.family, self.raw, self.code, self.root, self.captures, context)
        dead = dead_ranges(self.family, self.code, self.root)
        rules = RULES[self.family]
        checks = tuple(self._check(at, tests, dead) for at in _places(rules.check, self.code))
        skips = tuple(
            Mark(self._line(at), self._text(at), _inside(tests, at))
            for at in _places(rules.skip, self.code)
            if self._is_skip(at)
        )
        return View("syntax", checks, (*skips, *self._build_tags()), self._cases(tests, checks, dead))

    def _check(self, at: int, tests: list[Region], dead: list[tuple[int, int, str]]) -> Check:
        text = self._text(at)
        why = next((reason for start, end, reason in dead if start <= at < end), "")
        return Check(
            self._line(at), text, _inside(tests, at), strength_of(text), why, subjects_of(text), tolerance_of(text)
        )

    def _text(self, at: int) -> str:
        node = self.root.descendant_for_byte_range(at, at + 1)
        for _ in range(24):
            parent = node.parent if node is not None else None
            if parent is None or parent.type in BLOCKS:
                break
            node = parent
        if node is None or node.end_byte - node.start_byte > 4000 or node.start_byte > at:
            line = self._line(at) - 1
            end = self.raw.find(b"\n", at)
            return (
                self.raw[self.starts[line] : end if end >= 0 else len(self.raw)][:400]
                .decode("utf-8", "replace")
                .strip()
            )
        return bytes(self.raw[node.start_byte : node.end_byte])[:600].decode("utf-8", "replace")

    def _line(self, at: int) -> int:
        return bisect_right(self.starts, at)

    def _is_skip(self, at: int) -> bool:
        """An option `skip: …` counts in a call of a test function only: other objects have such fields too."""
        if self.family not in {"javascript", "typescript", "tsx"}:
            return True
        match = _OPTION.search(self.code, at, at + 40)
        if match is None or not re.fullmatch(r"[{,\s]*", self.code[at : match.start()]):
            return True
        node = self.root.descendant_for_byte_range(match.start(), match.start() + 1)
        for _ in range(5):
            if node is None or node.type == "call_expression":
                break
            node = node.parent
        return node is not None and _TEST_CALL.match(self.code, node.start_byte) is not None

    def _build_tags(self) -> tuple[Mark, ...]:
        if self.family != "go":
            return ()
        text = self.raw[:4000].decode("utf-8", "replace")
        found = re.findall(r"(?m)^//go:build[^\n]*", text) or re.findall(r"(?m)^// ?\+build[^\n]*", text)
        return tuple(Mark(1, tag) for tag in found[:1])

    def _cases(
        self, tests: list[Region], checks: tuple[Check, ...], dead: list[tuple[int, int, str]]
    ) -> tuple[TestCase, ...]:
        held: dict[str, list[Check]] = {}
        for check in checks:
            held.setdefault(check.test, []).append(check)
        found = []
        for region in tests:
            if region.group:
                continue
            digest = blake2b(b"".join(self.raw[region.body : region.end].split()), digest_size=12).hexdigest()
            own = [*held.get(region.name, ()), *self._helpers(region)]
            line = self._line(region.start)
            cut = self._cut(region, dead)
            found.append(TestCase(region.name, line, tuple(own), region.collected, region.cases, digest, cut))
        return tuple(found)

    def _cut(self, region: Region, dead: list[tuple[int, int, str]]) -> int | None:
        """The line on which a test is left for good: what can't be reached goes on to its end."""
        ends = {region.end - gap for gap in range(4)} if dead else set()
        at = min((at for at, end, why in dead if at > region.body and end in ends and why == "unreachable"), default=0)
        return self._line(at) if at else None

    def _helpers(self, region: Region) -> list[Check]:
        """Calls of functions whose names say that they assert; those that the rules know are counted already."""
        known = set(_places(RULES[self.family].check, self.code, region.body, region.end))
        return [
            Check(self._line(match.start()), f"{match.group(1)}(…)", region.name, subjects=(match.group(1),))
            for match in _HELPER.finditer(self.code, region.body, region.end)
            if match.start() not in known
        ]


_HELPER = re.compile(
    r"(?<![\w.$])((?:check|verify|assert|expect|ensure|validate|must|should|test)_?[A-Z_]\w*)!?[ \t]*\("
)


def _places(pattern: re.Pattern[str], code: str, start: int = 0, end: int | None = None) -> list[int]:
    found = []
    for match in pattern.finditer(code, start, len(code) if end is None else end):
        said = match.group()
        found.append(match.start() + len(said) - len(said.lstrip()))
    return found


def _inside(tests: list[Region], at: int) -> str:
    """The innermost test around a place; a check in a group belongs to the group."""
    best = ""
    for region in tests:
        if region.start > at:
            break
        if region.start <= at < region.end:
            best = region.name
    return best


def _blank(raw: bytes, quiet: list[Any]) -> bytes:
    """The text with everything in quiet nodes emptied; line ends stay."""
    code = bytearray(raw)
    for node in quiet:
        start, end = node.start_byte, node.end_byte
        inner = raw[start:end]
        if b"\n" in inner:
            code[start:end] = re.sub(rb"[^\n]", b" ", inner)
        else:
            code[start:end] = b" " * (end - start)
    return bytes(code)
