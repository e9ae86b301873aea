"""What a Python check pins down: whether it can fail at all, how strong it is, which value it looks at."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from steelyard.scorers.integrity.model import EXACT, NOTHING, PARTIAL, PRESENCE
from steelyard.scorers.integrity.python_nodes import (
    alike,
    always,
    always_compare,
    constant,
    is_len,
    is_literal,
    last_name,
    walk,
)

Say = Callable[[ast.AST], str]  # the source of a node
LONGEST = 400
_LAYOUT = re.compile(r"(?<=[(\[{]) | (?=[)\]}])|,(?= ?[)\]}])")
BROAD = frozenset({"Exception", "BaseException"})
CATCHES_FAILURES = BROAD | {"AssertionError", "object"}


@dataclass(frozen=True, slots=True)
class Meaning:
    """The strength of a check, the source of the values it looks at, and how much difference it lets through."""

    strength: int
    subjects: tuple[str, ...] = ()
    tolerance: float | None = None
    parts: tuple[str, ...] = ()


def meaning_of(test: ast.expr, say: Say) -> Meaning:
    """What a bare `assert` pins down."""
    if always(test) is True:
        return Meaning(NOTHING)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = meaning_of(test.operand, say)
        if _is_none(test.operand):
            return Meaning(PRESENCE, inner.subjects)
        return Meaning(EXACT if inner.strength == PRESENCE else PARTIAL, inner.subjects)
    if isinstance(test, ast.BoolOp):
        parts = [meaning_of(value, say) for value in test.values]
        strengths = [part.strength for part in parts]
        subjects = tuple(subject for part in parts for subject in part.subjects)
        if isinstance(test.op, ast.Or):
            # An alternative never pins down more than its weakest part.
            return Meaning(max(PRESENCE, min(min(strengths), PARTIAL)), subjects)
        return Meaning(max(strengths), subjects)
    if isinstance(test, ast.Compare):
        return _compared(test, say)
    if isinstance(test, ast.Call) and last_name(test.func) == "bool" and len(test.args) == 1:
        return meaning_of(test.args[0], say)
    if isinstance(test, ast.Call) and last_name(test.func) in {"isinstance", "issubclass", "hasattr", "callable"}:
        return Meaning(
            PRESENCE if last_name(test.func) in {"hasattr", "callable"} else PARTIAL, _sources(test.args[:1], say)
        )
    if isinstance(test, ast.Call) and last_name(test.func) in {
        "any",
        "all",
        "startswith",
        "endswith",
        "match",
        "search",
    }:
        return Meaning(PARTIAL, _sources([*test.args[:1], test.func], say))
    return Meaning(PRESENCE, _sources([test], say))


def _is_none(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Is | ast.Eq)
        and constant(test.comparators[0]) == (True, None)
    )


def _compared(test: ast.Compare, say: Say) -> Meaning:
    sides = [test.left, *test.comparators]
    subjects = _sources(sides, say)
    op = test.ops[0]
    if len(test.ops) > 1:
        return Meaning(EXACT if all(isinstance(part, ast.Eq | ast.Is) for part in test.ops) else PARTIAL, subjects)
    other = constant(test.comparators[0])
    if isinstance(op, ast.IsNot | ast.NotEq):
        return Meaning(PRESENCE if other[0] and other[1] in (None, "") else PARTIAL, subjects)
    if isinstance(op, ast.Eq | ast.Is):
        # `f() == f()` says that it says the same twice, and no more.
        left, right = test.left, test.comparators[0]
        strength = PARTIAL if alike(left, right) else PRESENCE if _is_any(left) or _is_any(right) else EXACT
        return Meaning(strength, subjects, _tolerance(test, subjects), _parts([left, right], say))
    if isinstance(op, ast.In) and isinstance(test.comparators[0], ast.Tuple | ast.List | ast.Set):
        subjects = (*subjects, *_sources(test.comparators[0].elts, say))
    if isinstance(op, ast.Gt | ast.GtE) and other[0] and other[1] in (0, -1, 1) and is_len(test.left):
        assert isinstance(test.left, ast.Call)  # noqa: S101  # `is_len` said so
        return Meaning(PRESENCE, (*subjects, *_sources(test.left.args[:1], say)))
    return Meaning(PARTIAL, subjects)


def _is_any(node: ast.expr) -> bool:
    """`mock.ANY`, which equals everything."""
    return last_name(node) == "ANY"


def _parts(nodes: list[ast.expr], say: Say) -> tuple[str, ...]:
    """What stands in `len(…)` and `type(…)`: no more than a part of it is looked at."""
    inner = [
        node.args[0]
        for node in nodes
        if isinstance(node, ast.Call) and len(node.args) == 1 and last_name(node.func) in {"len", "type"}
    ]
    return _sources(inner, say)


def _tolerance(node: ast.AST, subjects: tuple[str, ...]) -> float | None:
    """The largest tolerance given by keyword (or as the second argument of `approx`)."""
    if not any("approx" in said or "close" in said or len(said) >= LONGEST for said in subjects):
        return None
    for part in walk(node):
        if isinstance(part, ast.Call) and last_name(part.func) in {"approx", "isclose", "allclose"}:
            return tolerance_of(part)
    return None


def tolerance_of(call: ast.Call) -> float | None:
    """How much difference a call that compares numbers lets through, if it is written as a number."""
    found = []
    for keyword in call.keywords:
        known, value = constant(keyword.value)
        if known and isinstance(value, int | float) and not isinstance(value, bool):
            if keyword.arg in {"rel", "abs", "rtol", "atol", "rel_tol", "abs_tol", "delta", "tol"}:
                found.append(float(value))
            if keyword.arg in {"places", "decimal", "significant"}:
                found.append(10.0 ** -float(max(-300, min(300, value))))
    return max(found) if found else None


def _sources(nodes: list[ast.expr], say: Say) -> tuple[str, ...]:
    return tuple([say(node) for node in nodes if not is_literal(node)])


def unparsed(node: ast.AST) -> str:
    """The source of a node in one spelling, whatever it was made of."""
    try:
        return ast.unparse(node)[:LONGEST]
    except (RecursionError, ValueError, AttributeError):
        return ast.dump(node)[:LONGEST]


def written(lines: list[str]) -> Say:
    """The source of nodes as these lines have it, with one kind of quotes and without layout: far sooner."""

    def say(node: Any) -> str:
        first, last = node.lineno - 1, node.end_lineno - 1
        part = lines[first : last + 1]
        if not all(map(str.isascii, part)):  # columns are counted in bytes
            raw = [line.encode("utf-8", "replace") for line in part]
            raw[-1] = raw[-1][: node.end_col_offset]
            raw[0] = raw[0][node.col_offset :]
            part = [line.decode("utf-8", "replace") for line in raw]
        elif first == last:
            return part[0][node.col_offset : node.end_col_offset][:LONGEST].replace('"', "'")
        else:
            part[-1] = part[-1][: node.end_col_offset]
            part[0] = part[0][node.col_offset :]
        said = " ".join(" ".join(part).split())[: 2 * LONGEST].replace('"', "'")
        return _LAYOUT.sub("", said)[:LONGEST] if first != last else said[:LONGEST]

    return say


_UNITTEST: dict[str, int] = {
    "assertTrue": PRESENCE, "assertFalse": EXACT, "assertIsNone": EXACT, "assertIsNotNone": PRESENCE,
    "assertIn": PARTIAL, "assertNotIn": PARTIAL, "assertIsInstance": PARTIAL, "assertNotIsInstance": PARTIAL,
    "assertGreater": PARTIAL, "assertGreaterEqual": PARTIAL, "assertLess": PARTIAL, "assertLessEqual": PARTIAL,
    "assertNotEqual": PARTIAL, "assertNotEquals": PARTIAL, "assertIsNot": PARTIAL, "assertRegex": PARTIAL,
    "assert_called": PRESENCE, "assert_": PRESENCE, "assertRegexpMatches": PARTIAL,
}  # fmt: skip


def meaning_of_call(name: str, call: ast.Call, say: Say) -> Meaning:
    """What a check that is a call pins down: `self.assertEqual(a, b)`, `pytest.raises(X)`, `mock.assert_called()`."""
    args = call.args
    if name in {"raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assertRaisesMessage"}:
        return _raised(name, call)
    if name in {"assertTrue", "assert_", "assertFalse"} and args:
        flag = always(args[0])
        if flag is (name != "assertFalse"):
            return Meaning(NOTHING)
        inner = meaning_of(args[0], say)
        if name == "assertFalse" and _is_none(args[0]):
            return Meaning(PRESENCE, inner.subjects)
        return Meaning(
            EXACT if name == "assertFalse" and inner.strength == PRESENCE else inner.strength, inner.subjects
        )
    if name == "assertIsNotNone" and args and always(args[0]) is True:
        return Meaning(NOTHING)
    if name == "assertIsInstance" and len(args) > 1 and (is_literal(args[0]) or last_name(args[1]) == "object"):
        return Meaning(NOTHING)
    if name == "assertNotEqual" and len(args) > 1 and (True, None) in map(constant, args[:2]):
        return Meaning(PRESENCE, _sources(args[:2], say))
    if len(args) >= 2 and name in {"assertEqual", "assertEquals", "assertIs", "assertIn", "assertGreaterEqual"}:
        op: ast.cmpop = ast.In() if name == "assertIn" else ast.Eq()
        if always_compare(args[0], op, args[1]) is True:
            return Meaning(NOTHING)
    strength = _UNITTEST.get(name, EXACT)
    if len(args) > 1 and strength == EXACT and (_is_any(args[0]) or _is_any(args[1])):
        strength = PRESENCE
    elif len(args) > 1 and strength == EXACT and alike(args[0], args[1]):
        strength = PARTIAL
    subjects = _sources(args[:2], say)
    if isinstance(call.func, ast.Attribute) and name.startswith("assert_") and not subjects:
        subjects = (say(call.func.value),)
    return Meaning(strength, subjects, tolerance_of(call), _parts(args[:2], say))


def _raised(name: str, call: ast.Call) -> Meaning:
    """`raises`: a broad exception or no pattern pins down less."""
    broad = not call.args or last_name(call.args[0]) in BROAD
    if call.args and isinstance(call.args[0], ast.Tuple):
        broad = any(last_name(item) in BROAD for item in call.args[0].elts)
    patterns = [keyword.value for keyword in call.keywords if keyword.arg in {"match", "expected_regex"}]
    if name != "assertRaises" and name != "raises":
        patterns.extend(call.args[1:2])
    matched = any(constant(pattern)[1] not in ("", ".*", ".+", "(?s).*") for pattern in patterns)
    return Meaning(PRESENCE + (not broad) + matched, ("raises",))
