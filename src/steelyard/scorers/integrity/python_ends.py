"""Statements of Python after which nothing runs, loops that never do, blocks in which a failure is lost."""

import ast
import re

from steelyard.scorers.integrity.python_nodes import always, constant, last_name, walk
from steelyard.scorers.integrity.python_values import CATCHES_FAILURES

GOES_ON = frozenset({ast.Assert, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Pass})
LEAVES = frozenset({"exit", "_exit", "abort", "skip", "skipTest", "xfail", "quit"})
RAISING = frozenset({"raises", "warns", "deprecated_call", "assertRaises", "assertRaisesRegex", "assertWarns"})


HELPER = re.compile(r"_*(?:assert|check|verify|expect|ensure|validate|must|should|compare)(?:_|[A-Z]|$)", re.IGNORECASE)
_LEAVING = (ast.Return, ast.Continue, ast.Break)


def cut_at(body: list[ast.stmt]) -> int | None:
    """The line of a `return` at the level of the test itself, first or with statements after it."""
    if body and isinstance(body[0], ast.Return) and body[0].value is None:
        return body[0].lineno
    for node in body[:-1]:
        if isinstance(node, ast.Return):
            return node.lineno
    return None


def guards_in(body: list[ast.stmt]) -> int:
    """How many conditions leave a test without a word, while more of it follows."""
    return sum(
        isinstance(node, ast.If)
        and not isinstance(node.test, ast.Name)  # a name is taken for the test's own
        and not node.orelse
        and len(node.body) == 1
        and isinstance(node.body[0], ast.Return)
        and (node.body[0].value is None or constant(node.body[0].value) == (True, None))
        for node in body[:-1]
    )


def check_name(call: ast.Call) -> str:
    """The name of a call that is a check by itself; empty for any other call."""
    name = last_name(call.func)
    if name.startswith("assert"):
        return name
    if name in {"raises", "warns", "deprecated_call"}:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        return name if owner is None or isinstance(owner, ast.Name) else ""
    if name.startswith(("failIf", "failUnless")):
        return name
    if name == "fail" and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        return name
    return ""


def ends(node: ast.stmt) -> bool:
    """Whether nothing after this statement in its block can run."""
    if type(node) in GOES_ON:
        return False
    if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = last_name(node.value.func)
        if name in LEAVES:
            owner = node.value.func.value if isinstance(node.value.func, ast.Attribute) else None
            return name != "skip" or owner is not None
        return False
    if isinstance(node, ast.If):
        flag = always(node.test)
        body, other = any(map(ends, node.body)), any(map(ends, node.orelse))
        return (flag is True and body) or (flag is False and other) or (body and other and bool(node.orelse))
    if isinstance(node, ast.While):
        return always(node.test) is True and not any(isinstance(part, ast.Break) for part in walk(node))
    if isinstance(node, ast.With | ast.AsyncWith):
        return any(map(ends, node.body)) and not any(
            isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) in {*RAISING, "suppress"}
            for item in node.items
        )
    if isinstance(node, ast.Try):
        return any(map(ends, node.finalbody))
    return False


def empty(node: ast.expr) -> bool:
    """Whether there is nothing to loop over."""
    if constant(node) in ((True, ()), (True, {}), (True, "")):
        return True
    if isinstance(node, ast.BoolOp) and always(node) is False:
        return True
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):  # `[1][1:]`
        lower = (False, None) if node.slice.lower is None else constant(node.slice.lower)
        return isinstance(node.value, ast.List | ast.Tuple) and lower == (True, len(node.value.elts))
    if not isinstance(node, ast.Call):
        return False
    name, values = last_name(node.func), [constant(item) for item in node.args]
    if name == "range":
        return values == [(True, 0)] or (len(values) == 2 and values[0][0] and values[0] == values[1])
    if name in {"reversed", "sorted", "enumerate", "iter", "zip", "filter", "map"}:
        return any(map(empty, node.args))
    return name in {"list", "tuple", "set", "dict", "frozenset"} and not node.args


def swallows(node: ast.Try | ast.TryStar, body: list[ast.stmt]) -> bool:
    """Whether a failed assertion in the body goes unnoticed."""
    if any(isinstance(part, ast.Return | ast.Break | ast.Continue) for part in node.finalbody):
        return True
    for handler in node.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        catches = any(kind is None or last_name(kind) in CATCHES_FAILURES for kind in kinds)
        if catches:
            return not any(_speaks_up(part, body) for stmt in handler.body for part in walk(stmt))
    return False


def _speaks_up(node: ast.AST, body: list[ast.stmt]) -> bool:
    """Whether a part of a handler can still fail the test, or keeps the failure for later."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return any(  # what is kept is looked at
            isinstance(part, ast.Name) and part.id == node.targets[0].id and isinstance(part.ctx, ast.Load)
            for stmt in body
            for part in walk(stmt)
        )
    if isinstance(node, ast.Raise | ast.Assert | ast.Assign | ast.AugAssign):
        return True
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        return bool(check_name(node)) or name in {
            "fail",
            "exit",
            "append",
            "put",
            "set",
            "set_exception",
            "add",
            "skip",
        }
    return False


def suppresses(node: ast.expr) -> bool:
    """Whether a failed assertion in a `with` block goes unnoticed."""
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    kinds = [item for arg in node.args[:4] for item in (arg.elts if isinstance(arg, ast.Tuple) else [arg])]
    if name == "suppress":
        return any(last_name(kind) in CATCHES_FAILURES for kind in kinds)
    return name in {"raises", "assertRaises"} and any(last_name(kind) in CATCHES_FAILURES for kind in kinds[:1])


def hushed(node: ast.expr) -> bool:
    """Whether an error in a `with` block goes unnoticed and the rest of the block with it."""
    return isinstance(node, ast.Call) and last_name(node.func) == "suppress"


def silent(handler: ast.ExceptHandler) -> bool:
    """Whether a handler does nothing at all about an error."""
    return all(
        isinstance(part, ast.Pass | ast.Return | ast.Continue | ast.Break)
        or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for part in handler.body
    )


def leaves(node: ast.stmt, deepest: int = 3) -> bool:
    """Whether a statement may leave the block it stands in, without a word, while more follows."""
    if deepest == 0:
        return False
    if isinstance(node, ast.If):
        return any(isinstance(part, _LEAVING) or leaves(part, deepest - 1) for part in (*node.body, *node.orelse))
    if isinstance(node, ast.Try):
        parts = [part for handler in node.handlers for part in handler.body]
        return any(isinstance(part, _LEAVING) for part in (*node.body, *parts, *node.orelse))
    if isinstance(node, ast.With):
        return any(isinstance(part, _LEAVING) or leaves(part, deepest - 1) for part in node.body)
    if isinstance(node, ast.Match):
        return any(isinstance(part, _LEAVING) for case in node.cases for part in case.body)
    if isinstance(node, ast.For | ast.While):
        return any(isinstance(part, ast.Return) or (isinstance(part, ast.If) and _returns(part)) for part in node.body)
    return False


def _returns(node: ast.If) -> bool:
    return any(isinstance(part, ast.Return) for part in (*node.body, *node.orelse))
