"""Reads tests of the other languages: line rules find the places, the syntax tree says what they are."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate
from typing import Any

from steelyard.scorers.integrity.complete import completions
from steelyard.scorers.integrity.conditions import is_literal
from steelyard.scorers.integrity.grammars import Loaded, load, parsed
from steelyard.scorers.integrity.lines import RULES, Rule, first_sign, line_view
from steelyard.scorers.integrity.model import PARTIAL, TOO_DEEP, TOO_LARGE, TOO_SLOW, Check, Mark, TestCase, View
from steelyard.scorers.integrity.strength import compared, counted, parts_of, strength_of, subjects_of, tolerance_of
from steelyard.scorers.integrity.tree_cases import heads, rows
from steelyard.scorers.integrity.tree_conditions import Conditions, conditions, is_part
from steelyard.scorers.integrity.tree_flow import covers, dead_ranges, guards
from steelyard.scorers.integrity.tree_overrides import overrides
from steelyard.scorers.integrity.tree_shape import leans, nests, what_surrounds
from steelyard.scorers.integrity.tree_tests import Region, marks_tests, owners, regions

MAX_BYTES = 300_000
LONGEST = 400
BLOCKS = frozenset({
    "statement_block", "block", "program", "source_file", "body_statement", "statement_list", "do_block", "then",
    "arrow_function", "lambda_expression", "function_body", "class_body", "declaration_list", "compilation_unit",
    "switch_case", "lambda_literal", "statements", "else", "ensure", "begin", "control_structure_body", "token_tree",
    "closure_expression", "local_function_statement", "arrow_expression_clause", "block_body",
})  # fmt: skip
_OPTION = re.compile(r"(?:skip|todo|only)[ \t]*:")
_FAILS = re.compile(r"(?!(?:assert|require|is|check|must|qt|td)\.)\w+\.(?:Errorf?|Fatalf?|Fail|FailNow)\(")
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

    def syntax(self, text: str, context: str = "", lines: tuple[int, ...] = ()) -> View:
        """By syntax, where the text parses and the grammar is installed."""
        loaded = load(self.family)
        if loaded is None:
            return View(note="no grammar installed (pip install 'steelyard[syntax]')")
        raw = text.encode("utf-8", "replace")
        if len(raw) > MAX_BYTES:
            return View(note=TOO_LARGE)
        if nests(raw):
            return View(note=TOO_DEEP)
        try:
            tree = parsed(loaded, raw)
        except TimeoutError:
            return View(note=TOO_SLOW)
        if tree is None or tree.root_node.has_error:
            return View(note="does not parse")
        if leans(tree.root_node, len(raw)):
            return View(note=TOO_DEEP)
        view = _Reading(self.family, loaded, raw, tree.root_node).view(context or self.context(text))
        return replace(view, around=what_surrounds(tree.root_node, raw, lines)) if lines else view

    def completed(self, text: str, context: str = "") -> View:
        """By syntax, with the brackets that a text lacks which was cut out of a larger one."""
        loaded = load(self.family)
        if loaded is None or nests(text.encode("utf-8", "replace")):
            return View(note="does not parse")
        for filled in completions(self.family, text):
            raw = filled.encode("utf-8", "replace")
            try:
                tree = parsed(loaded, raw)
            except TimeoutError:
                break
            if tree is not None and not tree.root_node.has_error:
                return _Reading(self.family, loaded, raw, tree.root_node).view(context or self.context(text))
        return View(note="does not parse")

    def lines(self, text: str, note: str = "") -> View:
        """By line rules alone."""
        return line_view(self.family, text, note, counted)


class _Reading:
    """One text with its tree: `code` is the text with strings and comments blanked, byte for byte."""

    def __init__(self, family: str, loaded: Loaded, raw: bytes, root: Any) -> None:
        from tree_sitter import QueryCursor

        self.family, self.raw, self.root = family, raw, root
        self.captures: dict[str, list[Any]] = QueryCursor(loaded.query).captures(root)
        self.code = _blank(raw, self.captures.get("quiet", [])).decode("latin-1")
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.code))]
        self.conditions = Conditions([], [])
        self.asked: dict[int, int] = {}  # by a check, the beginning of the condition that is a part of it

    def view(self, context: str) -> View:
        """Everything that was seen."""
        tests = regions(self.family, self.raw, self.code, self.root, self.captures, context)
        dead = dead_ranges(self.family, self.code, self.root, [(one.body, one.end) for one in tests if not one.group])
        lost = [part for part in dead if part[2] != "aside"]
        tests = [
            replace(one, collected=False) if hidden else one
            for one, hidden in zip(tests, _hidden(dead, tests), strict=True)
        ]
        rules = RULES[self.family]
        places = _places(rules.check, self.code)
        inside, silent = owners(tests, places), covers(lost, places)
        checks = tuple(map(self._check, places, [_name(tests, at) for at in inside], silent))
        able = [at for at, check in zip(places, checks, strict=True) if check.counts]
        self.conditions = conditions(self.family, self.code, self.captures, able, dead)
        under = map(self._under, places)
        checks = tuple(replace(check, under=held) if held else check for check, held in zip(checks, under, strict=True))
        marks = [at for at in _places(rules.skip, self.code) if self._is_skip(at)]
        skips = tuple(
            Mark(self._line(at), self._text(at), _name(tests, owner))
            for at, owner in zip(marks, owners(tests, marks), strict=True)
        )
        cases = self._cases(tests, zip(inside, checks, strict=True), frozenset(places), dead)
        places = overrides(self.family, self.code, self.root, able)
        patched = tuple(Mark(self._line(at), self._text(at)) for at in places)
        return View("syntax", checks, (*skips, *self._build_tags()), cases, overrides=patched)

    def _under(self, at: int) -> tuple[str, ...]:
        return ("if …",) * self.conditions.around(self.asked.get(at, at))

    def _check(self, at: int, owner: str, dead: str) -> Check:
        text = self._text(at)
        strength = min(strength_of(text), PARTIAL) if self._copied(at, text) else strength_of(text)
        subjects, wide, parts = subjects_of(text), tolerance_of(text), parts_of(text)
        if self._is_left_alone(at, text):
            dead = dead or "swallowed"
        return Check(self._line(at), text, owner, strength, dead, subjects, wide, parts)

    def _is_left_alone(self, at: int, text: str) -> bool:
        """A promise of a check that nobody waits for: `expect(x).resolves…` as a statement of its own."""
        if ".rejects" not in text and ".resolves" not in text and ".eventually" not in text:
            return False
        before = self.code[max(0, at - 200) : at].rstrip().removesuffix("void").rstrip()
        return re.match(r"(?:void\s+)?expect\b", text) is not None and before[-1:] in {
            "{",
            "}",
            ";",
            ")",
            "`",
            "'",
            '"',
        }

    def _copied(self, at: int, text: str) -> bool:
        """Whether the expected value was made by what is checked: `x = f()`, then `f() == x`."""
        pair = compared(text)
        if pair is None:
            return False
        if pair[0].isidentifier() and pair[1].isidentifier():
            above = self.raw[max(0, at - 4000) : at].decode("utf-8", "replace")
            return any(re.search(rf"\b{a} :?= {b}\s*(?:;|\n)", above) for a, b in (pair, pair[::-1]))
        if pair[0].isidentifier() is pair[1].isidentifier():
            return False
        name, made = pair if pair[0].isidentifier() else pair[::-1]
        if is_literal(made) or made.isalnum():
            return False
        above = self.raw[max(0, at - 4000) : at].decode("utf-8", "replace")
        return f"{name} = {made}" in above or f"{name} := {made}" in above

    def _text(self, at: int) -> str:
        node = self.root.descendant_for_byte_range(at, at + 1)
        for _ in range(24):
            parent = node.parent if node is not None else None
            if parent is None or parent.type in BLOCKS or is_part(parent, node):
                break
            node = parent
        if node is None or node.end_byte - node.start_byte > 4000 or node.start_byte > at:
            line = self._line(at) - 1
            start, end = self.starts[line], self.raw.find(b"\n", at)
            last = min(start + LONGEST, end if end >= 0 else len(self.raw))
            return self.raw[start:last].decode("utf-8", "replace").strip()
        said = bytes(self.raw[node.start_byte : node.end_byte])[:600].decode("utf-8", "replace")
        return self._with_condition(at, node, said) if self.family == "go" and _FAILS.match(said) else said

    def _with_condition(self, at: int, node: Any, said: str) -> str:
        """Go says in an `if` what it checks, and in its body only that it failed."""
        outer = node.parent
        while outer is not None and outer.type in {"statement_list", "block"}:
            node, outer = outer, outer.parent
        if outer is None or outer.type != "if_statement" or outer.child_by_field_name("consequence") != node:
            return said
        asked = outer.child_by_field_name("condition")
        self.asked[at] = outer.start_byte
        return f"if {self.raw[asked.start_byte : asked.end_byte][:300].decode('utf-8', 'replace')} {{ {said}"

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
        self,
        tests: list[Region],
        checks: Iterable[tuple[int, Check]],
        known: frozenset[int],
        dead: list[tuple[int, int, str]],
    ) -> tuple[TestCase, ...]:
        held: dict[int, list[Check]] = {}
        for owner, check in checks:
            held.setdefault(owner, []).append(check)
        left: dict[int, list[int]] = {}  # by the end of what can't be reached, where that begins
        for start, end, why in dead:
            if why == "unreachable":
                left.setdefault(end, []).append(start)
        ways = sorted((end, at) for at, end in guards(self.code, self.root))
        loops = heads(self.code, self.captures)
        through = _by_owner(tests, loops)
        given = _by_owner(tests, rows(self.code, self.raw, self.captures.get("table", []), loops))
        found = []
        for place, region in enumerate(tests):
            if region.group:
                continue
            digest = blake2b(b"".join(self.raw[region.body : region.end].split()), digest_size=12).hexdigest()
            own = [*held.get(place, ()), *self._helpers(region, known)]
            cut = min(
                (at for gap in range(4) for at in left.get(region.end - gap, ()) if at > region.body), default=None
            )
            found.append(
                TestCase(
                    region.name,
                    self._line(region.start),
                    tuple(own),
                    region.collected,
                    region.cases,
                    digest,
                    None if cut is None else self._line(cut),
                    region.inverted + self._ways_out(region, ways),
                    rows=given.get(place, ()),
                    heads=through.get(place, ()),
                )
            )
        rest = [check for owner, some in held.items() if owner < 0 or tests[owner].group for check in some]
        others = TestCase(
            "<rest>", rest[0].line if rest else 1, tuple(rest), rows=given.get(-1, ()), heads=through.get(-1, ())
        )
        return (*found, others) if rest or others.rows or others.heads else tuple(found)

    def _ways_out(self, region: Region, ways: list[tuple[int, int]]) -> int:
        """How many of these (end of a block, place in it) leave the block that ends with this test."""
        near = ways[bisect_right(ways, (region.end - 200, -1)) : bisect_right(ways, (region.end, len(self.code)))]
        closing = {end for end, at in near if re.fullmatch(r"[\s)};]*(?:end)?", self.code[end : region.end])}
        return sum(at >= region.body and end in closing for end, at in near)

    def _helpers(self, region: Region, known: frozenset[int]) -> list[Check]:
        """Calls of functions whose names say that they assert; those that the rules know are counted already."""
        return [
            Check(
                self._line(match.start()),
                f"{match.group(1)}(…)",
                region.name,
                subjects=(match.group(1),),
                under=self._under(match.start()),
            )
            for match in _HELPER.matches(self.code, region.body, region.end)
            if match.start() not in known
        ]


_HELPER = Rule(
    re.compile("check|verify|assert|expect|ensure|validate|must|should|test"),
    re.compile(r"(?<![\w.$])((?:check|verify|assert|expect|ensure|validate|must|should|test)_?[A-Z_]\w*)!?[ \t]*\("),
)


def _hidden(dead: list[tuple[int, int, str]], tests: list[Region]) -> Iterator[bool]:
    """Whether each test stands where it is never run."""
    ranges = sorted((start, end) for start, end, why in dead if why == "unreachable")
    starts = [start for start, _ in ranges]
    ends = [0, *accumulate((end for _, end in ranges), max)]  # how far the first of them reach
    return (ends[bisect_right(starts, one.body)] >= one.end for one in tests)


def _by_owner(tests: list[Region], said: list[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    """Texts by the test in which their places are, which ascend; -1: in none."""
    found: dict[int, list[str]] = {}
    for owner, (_, text) in zip(owners(tests, [at for at, _ in said]), said, strict=True):
        found.setdefault(-1 if owner < 0 or tests[owner].group else owner, []).append(text)
    return {place: tuple(texts) for place, texts in found.items()}


def _name(tests: list[Region], place: int) -> str:
    return tests[place].name if place >= 0 else ""


def _places(rule: Rule, code: str) -> list[int]:
    return [first_sign(match) for match in rule.matches(code)]


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
