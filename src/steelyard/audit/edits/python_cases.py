"""What Python tests ask for, in calls with plain arguments and plain results."""

import ast
from collections.abc import Iterator

Case = tuple[str, str, str]
"""The name of a function, its arguments as one text, and the source of what it must return or raise."""

_EQUAL = {"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual"}


def cases_of(tree: ast.Module) -> Iterator[Case]:
    """Every case of a module, in comparisons, unittest's assertions and blocks that expect an error."""
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            yield from _raised(node)
            continue
        left: ast.expr
        right: ast.expr
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            left, right = node.left, node.comparators[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EQUAL:
            if len(node.args) < 2:
                continue
            left, right = node.args[:2]
        else:
            continue
        for call, expected in ((left, right), (right, left)):
            key, value = _key(call), _plain(expected)
            if key is not None and value is not None:
                yield *key, repr(value[0])


def _raised(node: ast.With) -> Iterator[Case]:
    expected = node.items[0].context_expr
    if not isinstance(expected, ast.Call) or not expected.args or not isinstance(expected.args[0], ast.Name):
        return
    for inner in ast.walk(ast.Module(node.body, [])):
        key = _key(inner) if isinstance(inner, ast.expr) else None
        if key is not None and ast.unparse(expected.func).endswith(("raises", "assertRaises")):
            yield *key, expected.args[0].id


def _key(call: ast.expr) -> tuple[str, str] | None:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return None
    args = [_plain(arg) for arg in call.args]
    named = {word.arg: _plain(word.value) for word in call.keywords if word.arg}
    if None in args or None in named.values() or len(named) < len(call.keywords):
        return None
    values = tuple(arg[0] for arg in args if arg is not None)
    return call.func.id, repr((values, sorted((name, value[0]) for name, value in named.items() if value)))


def _plain(node: ast.expr) -> tuple[object] | None:
    """A literal's value, in a tuple of one; `list(range(3))` and the like count as literals too."""
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    if (
        ast.unparse(node).startswith("list(range(")
        and isinstance(node, ast.Call)
        and isinstance(node.args[0], ast.Call)
    ):
        bounds = [_plain(arg) for arg in node.args[0].args]
        whole = [bound[0] for bound in bounds if bound and isinstance(bound[0], int) and abs(bound[0]) < 10_000]
        return (list(range(*whole)),) if whole and len(whole) == len(bounds) else None
    return None
