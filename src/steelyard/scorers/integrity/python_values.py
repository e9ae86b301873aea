"""What a Python check pins down: whether it can fail at all, how strong it is, which value it looks at."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from steelyard.scorers.integrity.model import EXACT, NOTHING, PARTIAL, PRESENCE
from steelyard.scorers.integrity.python_nodes import (
    alike,
    always,
    always_compare,
    constant,
    is_len,
    is_literal,
    is_true_or_false,
    last_name,
    walk,
)
from steelyard.scorers.integrity.python_wrapped import (
    CLOSE,
    SMALL,
    difference,
    is_wide,
    matches_all,
    partly,
    seen_through,
    tolerances,
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
    test = _said_plainly(test)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = meaning_of(test.operand, say)
        if _is_none(test.operand):
            return Meaning(PRESENCE, inner.subjects)
        whole = inner.strength == PRESENCE and not isinstance(test.operand, ast.BinOp)
        return Meaning(EXACT if whole else PARTIAL, inner.subjects)
    if isinstance(test, ast.IfExp):
        test = ast.BoolOp(ast.Or(), [test.body, test.orelse])
    if isinstance(test, ast.BoolOp):
        parts = [meaning_of(value, say) for value in test.values]
        strengths = [part.strength for part in parts]
        subjects = tuple(subject for part in parts for subject in part.subjects)
        if isinstance(test.op, ast.Or):
            # An alternative never pins down more than its weakest part.
            return Meaning(max(PRESENCE, min(min(strengths, default=PRESENCE), PARTIAL)), subjects)
        return Meaning(max(strengths), subjects)
    if isinstance(test, ast.Compare):
        return _compared(test, say)
    if isinstance(test, ast.Call):
        return _called(test, say)
    return Meaning(PRESENCE, _within([test], say))


def _said_plainly(test: ast.expr) -> ast.expr:
    """`(a == b) is True` says `a == b`; `any([a, b])` says `a or b`; `bool(a)` says `a`."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and is_true_or_false(test.left):
        known, value = constant(test.comparators[0])
        if known and isinstance(value, bool) and isinstance(test.ops[0], ast.Is | ast.Eq | ast.IsNot | ast.NotEq):
            held = value is isinstance(test.ops[0], ast.Is | ast.Eq)
            inner_test = _said_plainly(test.left)
            return inner_test if held else ast.copy_location(ast.UnaryOp(ast.Not(), inner_test), test)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and len(test.args) == 1:
        given = test.args[0]
        if test.func.id == "bool":
            return _said_plainly(given)
        listed = isinstance(given, ast.List | ast.Tuple | ast.Set) and len(given.elts) > 0
        if listed and test.func.id in {"any", "all"} and isinstance(given, ast.List | ast.Tuple | ast.Set):
            op: ast.boolop = ast.Or() if test.func.id == "any" else ast.And()
            return ast.copy_location(ast.BoolOp(op, given.elts), test)
    return test


def _called(test: ast.Call, say: Say) -> Meaning:
    """What the truth of a call pins down."""
    name = last_name(test.func)
    if name in {"isinstance", "issubclass", "hasattr", "callable"}:
        return Meaning(PRESENCE if name in {"hasattr", "callable"} else PARTIAL, _sources(test.args[:1], say))
    if name in CLOSE:
        return Meaning(PARTIAL if is_wide(test) else EXACT, _within(test.args[:2], say), tolerance_of(test))
    if name in {"match", "search", "fullmatch"} and test.args:
        told = [test.args[-1] if len(test.args) < 3 else test.args[1], test.func]
        return Meaning(PRESENCE if matches_all(test.args[0]) else PARTIAL, _within(told, say))
    if name in {"any", "all", "startswith", "endswith"}:
        return Meaning(PARTIAL, _within([*test.args[:1], test.func], say))
    return Meaning(PRESENCE, _within([test], say))


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
        exact = all(isinstance(part, ast.Eq | ast.Is) for part in test.ops)
        return Meaning(EXACT if exact else PARTIAL, (*subjects, *_within(sides, say)))
    other = constant(test.comparators[0])
    if isinstance(op, ast.IsNot | ast.NotEq):
        strength = PRESENCE if other[0] and other[1] in (None, "") else PARTIAL
        return Meaning(strength, (*subjects, *_within(sides, say)))
    if isinstance(op, ast.Eq | ast.Is):
        # `f() == f()` says that it says the same twice, and no more.
        return _equal(test.left, test.comparators[0], say)
    apart = difference(test.left, op, test.comparators[0])
    if apart is not None:
        strength = PARTIAL if apart[1] is not None and apart[1] > SMALL else EXACT
        return Meaning(strength, _sources(apart[0], say), apart[1])
    if isinstance(op, ast.In) and isinstance(test.comparators[0], ast.Tuple | ast.List | ast.Set):
        subjects = (*subjects, *_sources(test.comparators[0].elts, say))
    if isinstance(op, ast.Gt | ast.GtE) and other[0] and other[1] in (0, -1, 1) and is_len(test.left):
        assert isinstance(test.left, ast.Call)  # noqa: S101  # `is_len` said so
        return Meaning(PRESENCE, (*subjects, *_within(test.left.args[:1], say)))
    return Meaning(PARTIAL, (*subjects, *_within(sides, say)))


def _equal(left: ast.expr, right: ast.expr, say: Say) -> Meaning:
    """What it pins down that two values are equal."""
    subjects = _sources([left, right], say)
    if is_any(left) or is_any(right):
        return Meaning(NOTHING, subjects)
    close = _close([left, right], subjects)
    # `f() == f()` says that it says the same twice, and no more.
    strength = PARTIAL if alike(left, right) or (close is not None and is_wide(close)) else EXACT
    if close is not None:
        subjects = (*subjects, *_sources(close.args[:1], say))
    if _offers(left, right) or _offers(right, left):
        strength = PRESENCE
    parts = _sources(partly(left, right), say)
    return Meaning(strength, subjects, tolerance_of(close) if close is not None else None, parts)


def _offers(one: ast.expr, other: ast.expr) -> bool:
    """`x == (x or 1)`: the value itself will do."""
    if isinstance(other, ast.BoolOp):
        return any(alike(one, value) for value in other.values)
    return isinstance(other, ast.IfExp) and (alike(one, other.body) or alike(one, other.orelse))


def is_any(node: ast.expr) -> bool:
    """`mock.ANY`, which equals everything."""
    return last_name(node) == "ANY"


def _within(nodes: list[ast.expr], say: Say) -> tuple[str, ...]:
    """The values themselves, and what the functions they go through are given."""
    given = [node for one in nodes if not isinstance(one, ast.Name) for node in seen_through(one) if node is not one]
    return _sources([*nodes, *given], say) if given else _sources(nodes, say)


def _close(sides: list[ast.expr], subjects: tuple[str, ...]) -> ast.Call | None:
    """The call among two sides that lets a difference through."""
    if not any("approx" in said or "close" in said or len(said) >= LONGEST for said in subjects):
        return None
    for node in sides:
        for part in walk(node):
            if isinstance(part, ast.Call) and last_name(part.func) in CLOSE:
                return part
    return None


def tolerance_of(call: ast.Call) -> float | None:
    """How much difference a call that compares numbers lets through, if it is written as a number."""
    return max((value for _, value in tolerances(call)), default=None)


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
    "assert_called": PRESENCE, "assert_": PRESENCE, "assertRegexpMatches": PARTIAL, "assertCountEqual": PARTIAL,
    "assertItemsEqual": PARTIAL,
}  # fmt: skip
_COMPARES: dict[str, type[ast.cmpop]] = {
    "assertGreater": ast.Gt, "assertGreaterEqual": ast.GtE, "assertLess": ast.Lt, "assertLessEqual": ast.LtE,
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
    if len(args) >= 2 and name in _COMPARES:
        return meaning_of(ast.Compare(args[0], [_COMPARES[name]()], [args[1]]), say)
    if len(args) >= 2 and name in {"assertEqual", "assertEquals", "assertIs", "assertIn", "assertGreaterEqual"}:
        op: ast.cmpop = ast.In() if name == "assertIn" else ast.Eq()
        if always_compare(args[0], op, args[1]) is True:
            return Meaning(NOTHING)
    strength = _UNITTEST.get(name, EXACT)
    if len(args) > 1 and strength == EXACT:
        said = _equal(args[0], args[1], say)
        if name.startswith("assert_") and said.strength == NOTHING:
            said = replace(said, strength=EXACT)  # `mock.assert_called_with(ANY, …)`
        wide = tolerance_of(call)
        strength = min(said.strength, PARTIAL) if is_wide(call) else said.strength
        return replace(said, strength=strength, tolerance=said.tolerance if wide is None else wide)
    subjects = _sources(args[:2], say) if strength == EXACT else _within(args[:2], say)
    if isinstance(call.func, ast.Attribute) and name.startswith("assert_") and not subjects:
        subjects = (say(call.func.value),)
    return Meaning(strength, subjects, tolerance_of(call))


def _raised(name: str, call: ast.Call) -> Meaning:
    """`raises`: a broad exception or no pattern pins down less."""
    broad = not call.args or last_name(call.args[0]) in BROAD
    if call.args and isinstance(call.args[0], ast.Tuple):
        broad = any(last_name(item) in BROAD for item in call.args[0].elts)
    patterns = [keyword.value for keyword in call.keywords if keyword.arg in {"match", "expected_regex"}]
    if name != "assertRaises" and name != "raises":
        patterns.extend(call.args[1:2])
    matched = any(not matches_all(pattern) for pattern in patterns)
    return Meaning(PRESENCE + (not broad) + matched, ("raises",))
