"""How much a Python check pins down by what its names stand for: nothing, where both sides are made of one value."""

import ast
import re
from dataclasses import dataclass

from steelyard.scorers.integrity.model import NOTHING, PARTIAL, PRESENCE
from steelyard.scorers.integrity.python_ends import check_name
from steelyard.scorers.integrity.python_locals import MOCKS, Fresh, Locals
from steelyard.scorers.integrity.python_nodes import is_true_or_false, last_name, walk
from steelyard.scorers.integrity.python_values import Meaning, is_any
from steelyard.scorers.integrity.python_wrapped import BUILT_IN

_ASSERTS = re.compile(r"assert(?!Raises|Warns|Logs|NoLogs|_raises|_warns|_called|_not_called|_has|_any|_await)")
_CONDITIONS = (ast.Compare, ast.BoolOp, ast.UnaryOp)
_EQUAL = frozenset(
    {"assertequal", "assertequals", "assertis", "assertdictequal", "assertlistequal", "assertcountequal"}
)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the names in a block.

    `equal`: classes that equal everything; `quiet`: contexts in which every error is lost; `params`: the names the
    block is given, where it is all of a function.
    """

    locals: Locals
    equal: frozenset[str] = frozenset()
    quiet: frozenset[str] = frozenset()
    params: frozenset[str] | None = None

    def told(self, test: ast.expr) -> ast.expr:
        """A condition that was given a name first: `ok = a == b; assert ok`."""
        if isinstance(test, ast.Name) and isinstance(value := self.locals.values.get(test.id), _CONDITIONS):
            return value
        if isinstance(test, ast.UnaryOp | ast.Compare):
            name = test.operand if isinstance(test, ast.UnaryOp) else test.left
            made = self.locals.values.get(name.id) if isinstance(name, ast.Name) else None
            if made is not None and is_true_or_false(made):
                if isinstance(test, ast.UnaryOp):
                    return ast.copy_location(ast.UnaryOp(test.op, made), test)
                return ast.copy_location(ast.Compare(made, test.ops, test.comparators), test)
        return test

    def _is_hollow(self, node: ast.Assert | ast.Call, strength: int) -> bool:
        """Whether a check looks at nothing that the test made or was given, and calls built-in functions alone."""
        given = [node.test] if isinstance(node, ast.Assert) else node.args
        parts = [part for one in given for part in walk(one)]
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        if names & (self.params or frozenset()) or any(name in self.locals.bound for name in names):
            return False
        calls = [part.func for part in parts if isinstance(part, ast.Call)]
        if not given or any(not isinstance(func, ast.Name) or func.id not in BUILT_IN for func in calls):
            return False
        called = {func.id for func in calls if isinstance(func, ast.Name)}
        if names <= called:  # a name that is not called may be one that was given a value before
            return not any(isinstance(part, ast.Await | ast.Yield) for part in parts)
        deeper = any(isinstance(part, ast.Attribute) for part in parts)
        return self.params is not None and strength == PRESENCE and not deeper

    def strength(self, node: ast.Assert | ast.Call, meaning: Meaning, fresh: Fresh) -> int:
        """The strength of a check; less if its expected value was made by what it checks."""
        asserts = isinstance(node, ast.Assert) or _ASSERTS.match(check_name(node)) is not None
        if asserts and meaning.strength and self._is_hollow(node, meaning.strength):
            return NOTHING
        if isinstance(node, ast.Call) and self._asks_a_mock(node.func):
            return NOTHING
        sides = _sides(node)
        if meaning.strength < PARTIAL or sides is None:
            return meaning.strength
        if any(self._equals_all(side) for side in sides) or self.locals.is_itself(*sides, fresh):
            return NOTHING
        if self.locals.is_made_of(*sides, fresh):
            return PARTIAL
        if self.locals.is_given(*sides) or self.locals.is_given(*sides[::-1]):
            return PRESENCE
        return meaning.strength

    def _asks_a_mock(self, function: ast.expr) -> bool:
        """`Mock().assertEqual(…)`: whatever is asked of it, it agrees; what it has itself is another matter."""
        if not isinstance(function, ast.Attribute) or not function.attr.startswith("assert") or "_" in function.attr:
            return False
        owner = self.locals.values.get(function.value.id) if isinstance(function.value, ast.Name) else function.value
        if isinstance(function.value, ast.Name) and function.value.id == "self" and "self" in self.locals.bound:
            return True
        return isinstance(owner, ast.Call) and last_name(owner.func) in MOCKS

    def _equals_all(self, node: ast.expr) -> bool:
        made = self.locals.resolved(node)
        if self.locals.equals_all(node):
            return True
        return is_any(made) or last_name(made.func if isinstance(made, ast.Call) else made) in self.equal


def _sides(node: ast.Assert | ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """The two values that a check says are equal."""
    if isinstance(node, ast.Call):
        equal = check_name(node).lower().replace("_", "") in _EQUAL and len(node.args) > 1
        return (node.args[0], node.args[1]) if equal else None
    test = node.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
        return test.left, test.comparators[0]
    return None
