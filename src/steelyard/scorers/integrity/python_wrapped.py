"""What a comparison no longer looks at: values that go through a function which loses a part, or that may differ."""

import ast
import builtins
import re

from steelyard.scorers.integrity.python_nodes import alike, children, constant, last_name

# Functions and methods of which much comes out the same; the first kind is a loss on one side alone already.
_LOSES = frozenset({
    "len", "type", "round", "bool", "set", "frozenset", "hash", "Counter", "abs", "int", "sorted", "lower", "upper",
    "casefold", "strip", "lstrip", "rstrip", "swapcase", "floor", "ceil", "trunc", "quantize", "unique", "[:]", "{…}",
    "%", "//", "&", "f''",
})  # fmt: skip
_CHANGES = frozenset({
    "str", "repr", "list", "tuple", "dict", "float", "bytes", "min", "max", "sum", "any", "all", "next", "title",
    "capitalize", "split", "join", "replace", "keys", "sub", "escape", "fromkeys", "normalize", "normcase", "basename",
    "dirname", "format", "fsum", "normalise", "dedent", "splitlines", "sort", "map", "Decimal", "Fraction", "values",
    "items", "dumps",
})  # fmt: skip
_ON_ITS_ARGUMENT = frozenset({
    "join", "sub", "fromkeys", "normalize", "normcase", "basename", "dirname", "escape", "floor", "ceil", "trunc",
    "dumps", "unique", "fsum", "dedent", "Decimal", "Fraction", "Counter",
})  # fmt: skip
_ON_THE_LAST = frozenset({"sub", "map"})
_SIGNS = {ast.Mod: "%", ast.FloorDiv: "//", ast.BitAnd: "&", ast.Sub: "-", ast.BitOr: "|"}
_DEEPEST, _MOST = 6, 80
BUILT_IN = frozenset(dir(builtins))
CLOSE = frozenset({"isclose", "allclose", "approx", "almost_equal"})
SMALL = 1.001e-3
"""A difference up to this is taken for that of floating numbers."""
_RELATIVE = frozenset({"rel", "rtol", "rel_tol"})
_ABSOLUTE = frozenset({"abs", "atol", "abs_tol", "delta", "tol", "tolerance", "atolerance"})
_DIGITS = frozenset({"places", "decimal", "significant", "ndigits"})
_THIRD = {
    "assertAlmostEqual": "places", "assertAlmostEquals": "places", "assert_almost_equal": "decimal",
    "assert_array_almost_equal": "decimal", "assert_approx_equal": "significant", "assert_allclose": "rtol",
    "isclose": "rtol", "allclose": "rtol", "assertNotAlmostEqual": "places",
}  # fmt: skip
_MATCHES_ALL = re.compile(
    r"(?:\^|\$|\\[AZb]|\(\?[a-z]+\)|\(\?:|[()]|(?:\.|\[\\?[sSwWdD]\\[sSwWdD]\]|\\[sSwWdD])\*\??|\.\+\??)*+"
)


def inner(node: ast.expr) -> list[tuple[str, ast.expr]]:
    """The functions a value goes through, outermost first, each with what it is given."""
    found: list[tuple[str, ast.expr]] = []
    while len(found) < _DEEPEST and (one := _step(node)) is not None:
        found.append(one)
        node = one[1]
    return found


def _step(node: ast.expr) -> tuple[str, ast.expr] | None:
    """The outermost function, operator or comprehension a value goes through, and what it is given."""
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name not in _LOSES and name not in _CHANGES:
            return None
        method = isinstance(node.func, ast.Attribute) and name not in _ON_ITS_ARGUMENT
        if method and isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Constant):
            return name, node.func.value
        if name in {"max", "min"} and len(node.args) > 1:
            return "%", next((given for given in node.args if not constant(given)[0]), node.args[0])
        return (name, node.args[-1 if name in _ON_THE_LAST else 0]) if node.args else None
    if isinstance(node, ast.Attribute):
        return ("type", node.value) if node.attr in {"__class__", "__name__", "__dict__"} else None
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Slice):
            return "[:]", node.value
        if isinstance(node.value, ast.List | ast.Tuple):
            return next((("[:]", one) for one in node.value.elts if not constant(one)[0]), None)
        return ("[:]", node.value) if isinstance(node.value, ast.Call) and _step(node.value) else None
    if isinstance(node, ast.SetComp | ast.ListComp | ast.GeneratorExp):
        return "{…}" if isinstance(node, ast.SetComp) else "[…]", node.generators[0].iter
    if isinstance(node, ast.BinOp) and _is_nothing(node):
        return "%", node.right if constant(node.left)[0] else node.left
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS and not constant(node.left)[0]:
        return _SIGNS[type(node.op)], node.left
    if isinstance(node, ast.JoinedStr):
        given = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        return ("f''", given[0].value) if len(given) == 1 and given[0].format_spec is not None else None
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 1:
        return "[]", node.elts[0]
    return None


def _is_nothing(node: ast.BinOp) -> bool:
    """`0 * x`, `x ** 0`, `x - x`."""
    zero = (True, 0) in (constant(node.left), constant(node.right))
    return (zero and isinstance(node.op, ast.Mult | ast.Pow)) or (
        isinstance(node.op, ast.Sub) and alike(node.left, node.right)
    )


def seen_through(node: ast.expr) -> list[ast.expr]:
    """Every value that a condition looks at through built-in functions, methods of text, and signs alone."""
    found: list[ast.expr] = []
    todo: list[ast.AST] = [node]
    for part in todo:
        if len(todo) > _MOST:
            break
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
            found.append(part)
        elif isinstance(part, ast.Call):
            method = isinstance(part.func, ast.Attribute) and (part.func.attr.startswith("is") or _step(part))
            if method and isinstance(part.func, ast.Attribute):
                todo.append(part.func.value)
            elif not isinstance(part.func, ast.Name) or part.func.id not in BUILT_IN:
                found.append(part)
                continue
            todo += part.args
        elif not isinstance(part, ast.Lambda):
            todo += children(part)
        if isinstance(part, ast.Subscript) and _step(part):
            todo.append(part.value)
    return found


def partly(left: ast.expr, right: ast.expr) -> list[ast.expr]:
    """Values of two compared sides of which a part is looked at only: both go through one function, or one is cut."""
    first, second = inner(left), inner(right)
    if not first and not second:
        return []
    both = {name for name, _ in first} & {name for name, _ in second} - {"[]"}
    found: list[ast.expr] = []
    for chain in (first, second):
        at = next((index for index, (name, _) in enumerate(chain) if name in _LOSES or name in both), -1)
        found.extend(node for _, node in chain[at:] if at >= 0)
    return found


def difference(left: ast.expr, op: ast.cmpop, right: ast.expr) -> tuple[list[ast.expr], float | None] | None:
    """`abs(a - b) < bound`: the two values, and the bound where it is a number."""
    if isinstance(op, ast.Gt | ast.GtE):
        left, right = right, left
    elif not isinstance(op, ast.Lt | ast.LtE):
        return None
    if not isinstance(left, ast.Call) or last_name(left.func) not in {"abs", "fabs", "norm"} or len(left.args) != 1:
        return None
    given = left.args[0]
    if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Sub):
        return None
    known, value = constant(right)
    bound = float(value) if known and isinstance(value, int | float) and abs(value) < 1e300 else None
    return [given.left, given.right], bound


def tolerances(call: ast.Call) -> list[tuple[str, float]]:
    """Every tolerance that a call is given as a number, by its kind."""
    name = last_name(call.func)
    given = [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    if name == "approx":
        given += zip(("rel", "abs"), call.args[1:3], strict=False)
    elif name in _THIRD:
        given += zip((_THIRD[name], "atol"), call.args[2:4], strict=False)
    found = []
    for kind, node in given:
        known, value = constant(node)
        if not known or not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > 1e300:
            continue
        if kind in _RELATIVE or kind in _ABSOLUTE:
            found.append((kind, float(value)))
        elif kind in _DIGITS:
            found.append((kind, 10.0 ** -float(max(-300, min(300, value)))))
    return found


def is_wide(call: ast.Call) -> bool:
    """Whether a call lets more through than the error of floating numbers, by the size of what is expected."""
    size = max([1.0, *(abs(float(value)) for value in map(_number, call.args[:2]) if value is not None)])
    return any(value / (1.0 if kind in _RELATIVE else size) > SMALL for kind, value in tolerances(call))


def _number(node: ast.expr) -> float | None:
    if isinstance(node, ast.Call) and last_name(node.func) == "approx" and node.args:
        node = node.args[0]
    known, value = constant(node)
    return float(value) if known and isinstance(value, int | float) and abs(value) < 1e300 else None


def matches_all(pattern: ast.expr) -> bool:
    """Whether a pattern matches whatever it is given."""
    known, value = constant(pattern)
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not known or not isinstance(value, str) or len(value) > 100:
        return False
    return any(_MATCHES_ALL.fullmatch(part) is not None for part in value.split("|"))
