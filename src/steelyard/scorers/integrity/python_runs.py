"""Whether a Python test is run to its end, and what it puts in the place of the code it tests."""

import ast
import re

from steelyard.scorers.integrity.python_locals import MOCKS, dotted, own_nodes, yields
from steelyard.scorers.integrity.python_nodes import Function, constant, last_name, walk

GENERATOR, COROUTINE = "a generator, which no runner goes through", "a coroutine that awaits nothing"
_KNOWN = re.compile(
    r"(?:pytest\.|mark\b|(?:\w+\.)*patch\b|(?:unittest\.)?skip|given\b|settings\b|example\b|staticmethod)"
)
_AWAITS = (ast.Await, ast.AsyncFor, ast.AsyncWith)
_PATCHES = frozenset({"patch", "object", "setattr", "patch_object", "when", "replace"})


def idle(node: Function) -> str:
    """Why no runner runs a test to its end; empty where one may, or a decorator that is not known."""
    if not all(_KNOWN.match(dotted(item.func if isinstance(item, ast.Call) else item)) for item in node.decorator_list):
        return ""
    if yields(node.body):
        return GENERATOR
    if isinstance(node, ast.AsyncFunctionDef) and not any(isinstance(part, _AWAITS) for part in own_nodes(node.body)):
        return COROUTINE
    return ""


def patched(node: Function) -> frozenset[str]:
    """The names for which a test puts something else: patches, and stand-ins given to a name."""
    found: set[str] = set()
    for part in [part for stmt in (*node.decorator_list, *node.body) for part in walk(stmt)]:
        if isinstance(part, ast.Call) and last_name(part.func) in _PATCHES:
            named = [value for value in map(_end, part.args[:2]) if value]
            found.update(value.rpartition(".")[2] for value in named[:1])
        elif isinstance(part, ast.Call) and last_name(part.func) in {"dict", "multiple"}:
            found.update(keyword.arg or "" for keyword in part.keywords if _stands_in(keyword.value))
        elif isinstance(part, ast.Assign) and _stands_in(part.value):
            found.update(name for target in part.targets for name in (last_name(target), dotted(target)))
            keys = [_end(target.slice) for target in part.targets if isinstance(target, ast.Subscript)]
            found.update(keys)
    return frozenset(found - {""})


def _end(node: ast.expr) -> str:
    """The text that an expression ends with."""
    if isinstance(node, ast.BinOp):
        node = node.right
    elif isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[-1]
    known, value = constant(node)
    return value if known and isinstance(value, str) else ""


def _stands_in(value: ast.expr) -> bool:
    return isinstance(value, ast.Lambda) or (isinstance(value, ast.Call) and last_name(value.func) in MOCKS)
