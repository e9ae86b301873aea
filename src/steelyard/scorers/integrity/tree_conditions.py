"""Under how many conditions each check of a parsed text stands: branches, guards, early ways out."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from steelyard.scorers.integrity.paths import SCRIPTS

_AND = '["&&" "||" "??"]'
# By what the rest is asked for: `branch` has a condition and one or two parts, `cases` many, `part` is one by itself.
QUERIES = {
    "script": f"""[(if_statement) (ternary_expression)] @branch (switch_statement) @cases
        (while_statement body: (_) @part) (binary_expression operator: {_AND} right: (_) @part)
        [(function_declaration) (function_expression) (arrow_function) (method_definition)] @scope
        [(for_statement) (for_in_statement) (while_statement) (do_statement)] @loop (optional_chain) @maybe""",
    "go": """(if_statement) @branch [(expression_switch_statement) (type_switch_statement) (select_statement)] @cases
        (for_statement (_) @while body: (block) @part) (for_statement) @loop
        [(function_declaration) (func_literal) (method_declaration)] @scope""",
    "java": """[(if_statement) (ternary_expression)] @branch (switch_expression) @cases
        (while_statement body: (_) @part) (binary_expression operator: ["&&" "||"] right: (_) @part)
        [(method_declaration) (lambda_expression)] @scope
        [(for_statement) (enhanced_for_statement) (while_statement) (do_statement)] @loop""",
    "kotlin": """(if_expression) @branch (when_expression) @cases (while_statement (_) (_) @part)
        (binary_expression operator: ["&&" "||" "?:"] right: (_) @part)
        [(function_declaration) (lambda_literal) (anonymous_function)] @scope
        [(for_statement) (while_statement) (do_while_statement)] @loop""",
    "ruby": """[(if) (unless) (elsif) (conditional)] @branch [(case) (case_match)] @cases
        [(if_modifier body: (_) @part) (unless_modifier body: (_) @part) (while_modifier body: (_) @part)
        (until_modifier body: (_) @part) (while body: (_) @part) (until body: (_) @part)]
        (binary operator: ["&&" "||" "and" "or"] right: (_) @part)
        [(method) (lambda) (do_block) (block) (singleton_method)] @scope
        [(while) (until) (for) (do_block) (block)] @loop""",
    "rust": """(if_expression) @branch (match_expression) @cases (while_expression body: (_) @part)
        (let_declaration alternative: (_) @part) (binary_expression operator: ["&&" "||"] right: (_) @part)
        [(function_item) (closure_expression)] @scope [(for_expression) (while_expression) (loop_expression)] @loop
        (attribute_item) @worn""",
    "csharp": f"""[(if_statement) (conditional_expression) (preproc_if)] @branch
        [(switch_statement) (switch_expression)] @cases
        (while_statement body: (_) @part) (binary_expression operator: {_AND} right: (_) @part)
        [(method_declaration) (lambda_expression) (local_function_statement) (anonymous_method_expression)] @scope
        [(for_statement) (foreach_statement) (while_statement) (do_statement)] @loop""",
}
_CASE = frozenset({
    "switch_case", "switch_default", "expression_case", "type_case", "default_case", "communication_case",
    "switch_block_statement_group", "switch_rule", "when_entry", "when", "in_clause", "else", "match_arm",
    "switch_section", "switch_expression_arm",
})  # fmt: skip
_SPOKEN = re.compile(
    r"\b(?:throw|raise|(?:panic|unreachable|unimplemented|todo)!|panic\(|[fF]ail\w*|Fatal\w*|flunk|abort|reject|exit\w*"
    r"|[sS]kip\w*|pending|omit|assum\w+|Inconclusive|Ignore)"
)
_LEAVES = re.compile(
    r"\breturn\b(?:@\w+)?(?:[ \t]*(?:nil|null|undefined|true|false|void 0|\(\)|Ok\(\(\)\)"
    r"|(?:done|cb|callback|next|resolve|t\.end|t\.pass|Promise\.resolve)\(\)|Task\.CompletedTask))?[ \t]*"
    r"(?=[;,)}\n]|$|(?:if|unless|end)\b)|\b(?:next|continue|break)\b(?=[ \t]*(?:[;,)}\n]|$|(?:if|unless|end)\b))"
)
_TEST_ONLY = re.compile(r"#\[\s*cfg\s*\(\s*test\s*\)\s*\]")


@dataclass(frozen=True, slots=True)
class _Part:
    """What is run under a condition, and where the whole of it ends."""

    start: int
    end: int
    whole: int


def kind_of(family: str) -> str:
    """The name under which a family has its query."""
    return "script" if family in SCRIPTS else family


def conditions(
    family: str, code: str, captures: dict[str, list[Any]], able: list[int], dead: list[tuple[int, int, str]]
) -> "Conditions":
    """Everything in a text that is run under a condition, or aside; `able`: where checks that can fail stand."""
    spoken = sorted({*able, *(match.start() for match in _SPOKEN.finditer(code))})

    def speaks(part: _Part) -> bool:
        return bisect_left(spoken, part.end) > bisect_left(spoken, part.start)

    groups = list(_groups(family, code, captures))
    parts = [part for group in groups if sum(map(speaks, group)) < 2 for part in group]
    quiet = [part for group in groups for part in group if not speaks(part)]
    parts.extend(_ways_out(code, captures, quiet))
    parts.extend(_Part(start, end, end) for start, end, why in dead if why == "aside")
    return Conditions(sorted(part.start for part in parts), sorted(part.end for part in parts))


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where parts that are run under a condition begin and end, both ascending."""

    starts: list[int]
    ends: list[int]

    def around(self, at: int) -> int:
        """How many conditions stand around a place."""
        return bisect_right(self.starts, at) - bisect_right(self.ends, at)


def _groups(family: str, code: str, captures: dict[str, list[Any]]) -> Iterator[list[_Part]]:
    """The parts of each condition, of which at most one is run."""
    for node in captures.get("branch", ()):
        yield list(_branches(node))
    for node in captures.get("cases", ()):
        body = node.child_by_field_name("body") or node
        cases = [child for child in body.named_children if child.type in _CASE]
        yield [_Part(case.start_byte, case.end_byte, node.end_byte) for case in cases]
    loops = {node.start_byte for node in captures.get("while", ()) if node.type in {"for_clause", "range_clause"}}
    counted = _heads(loops, captures.get("loop", ())) if family == "go" else set()
    for node in captures.get("part", ()):
        if node.end_byte not in counted:
            yield [_Part(node.start_byte, node.end_byte, node.end_byte)]
    for node in captures.get("worn", ()):
        said = code[node.start_byte : node.start_byte + 40]
        if re.match(r"#\[\s*cfg\s*\(", said) and not _TEST_ONLY.match(said):
            follows = node.next_named_sibling
            while follows is not None and (follows.type == "attribute_item" or "comment" in follows.type):
                follows = follows.next_named_sibling
            if follows is not None:
                yield [_Part(node.end_byte, follows.end_byte, follows.end_byte)]


def _heads(heads: set[int], loops: Any) -> set[int]:
    """Where the Go loops end that count or range: they are no mere condition."""
    return {node.end_byte for node in loops if any(child.start_byte in heads for child in node.named_children[:2])}


def _branches(node: Any) -> Iterator[_Part]:
    asked, end = node.child_by_field_name("condition"), node.end_byte
    if asked is None:
        return
    other = node.child_by_field_name("alternative")
    if other is None:
        behind = [child for child in node.named_children if child.start_byte >= asked.end_byte]
        behind = [child for child in behind if "comment" not in child.type]
        other = behind[1] if len(behind) == 2 and not node.type.startswith("preproc") else None
    yield _Part(asked.end_byte, end if other is None else other.start_byte, end)
    if other is not None:
        yield _Part(other.start_byte, other.end_byte, end)


def _ways_out(code: str, captures: dict[str, list[Any]], quiet: list[_Part]) -> Iterator[_Part]:
    """What follows a condition under which a function or the turn of a loop is left without a word."""
    places = list(_LEAVES.finditer(code))
    functions = [(node.start_byte, node.end_byte) for node in captures.get("scope", ())]
    turns = [(node.start_byte, node.end_byte) for key in ("loop", "cases") for node in captures.get(key, ())]
    at = [match.start() for match in places]
    parts = innermost([(part.start, part.end) for part in quiet], at)
    left, turned = innermost(functions, at), innermost([*functions, *turns], at)
    ends = {(part.start, part.end): part.whole for part in quiet}
    for match, part, function, turn in zip(places, parts, left, turned, strict=True):
        scope = function if match.group().startswith("return") else turn
        if part is None or scope is None or part[0] < scope[0] or (part[0] == scope[0] and part[1] >= scope[1]):
            continue
        if ends[part] < scope[1]:
            yield _Part(ends[part], scope[1], scope[1])


def innermost(spans: list[tuple[int, int]], places: list[int]) -> list[tuple[int, int] | None]:
    """The innermost of these spans, which nest, around each of these places, which ascend."""
    waiting = sorted(spans, key=lambda span: (-span[0], span[1]))
    around: list[tuple[int, int]] = []
    found: list[tuple[int, int] | None] = []
    for at in places:
        while waiting and waiting[-1][0] <= at:
            while around and around[-1][1] <= waiting[-1][0]:
                around.pop()
            around.append(waiting.pop())
        while around and around[-1][1] <= at:
            around.pop()
        found.append(around[-1] if around else None)
    return found


_WHOLE = frozenset({
    "if_statement", "if_expression", "if_modifier", "unless_modifier", "while_statement", "for_statement",
    "else_clause", "for_in_statement", "enhanced_for_statement", "foreach_statement", "while_modifier",
    "until_modifier",
    "ternary_expression", "conditional_expression", "conditional", "match_arm", "switch_rule", "when_entry", "when",
    "switch_section", "switch_block_statement_group", "preproc_if", "preproc_else", "do_statement", "switch_default",
    "expression_case", "default_case", "type_case", "communication_case", "preproc_elif", "switch_expression_arm",
})  # fmt: skip
_SIGNS = frozenset({"&&", "||", "??", "and", "or", "?:"})


def is_part(parent: Any, node: Any) -> bool:
    """Whether a node is what its parent runs under a condition, and not the condition itself."""
    if parent.type in _WHOLE:
        asked = parent.child_by_field_name("condition") or parent.child_by_field_name("value")
        return bool(asked != node) if parent.type != "match_arm" else True
    if parent.type in {"binary_expression", "binary"}:
        sign = parent.child_by_field_name("operator")
        return sign is not None and sign.type in _SIGNS and bool(parent.child_by_field_name("right") == node)
    return False
