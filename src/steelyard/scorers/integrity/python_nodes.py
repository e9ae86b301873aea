"""The nodes of a Python tree: how to walk them, and which expressions always have one value."""

import ast
from functools import cache

_UNTOLD = frozenset({ast.Name, ast.Attribute, ast.Subscript})
_OPEN = _UNTOLD | {ast.Call, ast.Compare}  # may have any value
Function = ast.FunctionDef | ast.AsyncFunctionDef
_NO_NODES = frozenset(
    {"ctx", "id", "attr", "kind", "type_comment", "asname", "module", "level", "simple", "conversion"}
)


def walk(root: ast.AST) -> list[ast.AST]:
    """Every node below and with the root; quicker than `ast.walk`, whose order nobody needs here."""
    found = [root]
    for node in found:
        found += children(node)
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one."""
    found: list[ast.AST] = []
    for name in _inner_fields(type(node)):  # type: ignore[arg-type]  # a class is hashable, whatever mypy says
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)] if value else ()
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


@cache
def _inner_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold other nodes."""
    if issubclass(kind, ast.Constant | ast.Name):
        return ()
    return tuple(name for name in kind._fields if name not in _NO_NODES)


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def constant(node: ast.expr) -> tuple[bool, object]:
    """(True, value) for an expression that always has this value."""
    kind = type(node)
    if kind is ast.Constant:
        return True, node.value  # type: ignore[attr-defined]  # it is one
    if kind in _OPEN:
        return False, None
    if isinstance(node, ast.UnaryOp):
        known, value = constant(node.operand)
        if known and isinstance(node.op, ast.Not):
            return True, not value
        if known and isinstance(node.op, ast.USub) and isinstance(value, int | float):
            return True, -value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant(node.left), constant(node.right)
        if left[0] and right[0] and isinstance(left[1], str) and isinstance(right[1], str):
            return True, left[1] + right[1]
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and not node.elts:
        return True, ()
    if isinstance(node, ast.Dict) and not node.keys:
        return True, {}
    return False, None


def always(node: ast.expr) -> bool | None:
    """Whether an expression is always true, always false, or (None) open."""
    if type(node) in _UNTOLD:
        return None
    known, value = constant(node)
    if known:
        return bool(value)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return True if not any(isinstance(item, ast.Starred) for item in node.elts) else None
    if isinstance(node, ast.Dict | ast.Lambda):
        return True
    if isinstance(node, ast.JoinedStr):
        return True if any(isinstance(part, ast.Constant) and part.value for part in node.values) else None
    if isinstance(node, ast.NamedExpr):
        return always(node.value)
    if isinstance(node, ast.IfExp):
        flag = always(node.test)
        return None if flag is None else always(node.body if flag else node.orelse)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = always(node.operand)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        return _always_bool(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return always_compare(node.left, node.ops[0], node.comparators[0])
    if isinstance(node, ast.Call):
        return _always_call(node)
    return None


def _always_bool(node: ast.BoolOp) -> bool | None:
    parts = [always(value) for value in node.values]
    if isinstance(node.op, ast.Or):
        if any(part is True for part in parts) or _says_both(node.values):
            return True
        return False if all(part is False for part in parts) else None
    if any(part is False for part in parts):
        return False
    return True if all(part is True for part in parts) else None


def _says_both(values: list[ast.expr]) -> bool:
    """`x or not x`."""
    plain = {ast.dump(value) for value in values}
    return any(
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not) and ast.dump(value.operand) in plain
        for value in values
    )


def always_compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool | None:
    """The same for a comparison of two expressions."""
    (known_left, a), (known_right, b) = _measured(left), _measured(right)
    if known_left and known_right:
        return _evaluated(a, op, b)
    if isinstance(op, ast.IsNot | ast.NotEq) and known_right and b is None and is_literal(left):
        return True
    if isinstance(op, ast.GtE) and known_right and b == 0 and is_len(left):
        return True
    if isinstance(op, ast.Gt) and known_right and b in (-1, -1.0) and is_len(left):
        return True
    if alike(left, right) and _pure(left):
        return True if isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE) else None
    if isinstance(op, ast.In) and isinstance(right, ast.List | ast.Tuple | ast.Set) and _pure(left):
        return True if any(alike(item, left) for item in right.elts) else None
    return None


def _measured(node: ast.expr) -> tuple[bool, object]:
    """A constant, or the length of one."""
    if is_len(node) and isinstance(node, ast.Call) and len(node.args) == 1:
        known, value = constant(node.args[0])
        return known and isinstance(value, str | tuple | dict), len(value) if isinstance(
            value, str | tuple | dict
        ) else 0
    return constant(node)


def alike(left: ast.expr, right: ast.expr) -> bool:
    """Whether two expressions are written alike; most differ in their kind already."""
    return type(left) is type(right) and ast.dump(left) == ast.dump(right)


def _evaluated(a: object, op: ast.cmpop, b: object) -> bool | None:
    if isinstance(op, ast.Eq | ast.Is):
        return a == b
    if isinstance(op, ast.NotEq | ast.IsNot):
        return a != b
    if isinstance(a, int | float) and isinstance(b, int | float):
        order = {ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b}
        return order.get(type(op))
    if isinstance(op, ast.In) and isinstance(a, str) and isinstance(b, str):
        return a in b
    return None


def _always_call(node: ast.Call) -> bool | None:
    name = last_name(node.func)
    if name == "bool" and len(node.args) == 1:
        return always(node.args[0])
    if (
        name == "isinstance"
        and len(node.args) == 2
        and (last_name(node.args[1]) == "object" or is_literal(node.args[0]))
    ):
        return True
    if name == "object" and not node.args:
        return True
    if name in {"any", "all"} and len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
        parts = [always(item) for item in node.args[0].elts]
        if name == "any" and any(part is True for part in parts):
            return True
        return True if name == "all" and all(part is True for part in parts) else None
    return None


def is_literal(node: ast.expr) -> bool:
    """Whether a value stands there as it is."""
    if type(node) in _OPEN:
        return False
    return constant(node)[0] or isinstance(node, ast.List | ast.Dict | ast.Tuple | ast.Set | ast.JoinedStr | ast.Lambda)


def is_len(node: ast.expr) -> bool:
    """Whether it is a call of `len`."""
    return isinstance(node, ast.Call) and last_name(node.func) == "len"


def _pure(node: ast.expr) -> bool:
    """Whether saying it twice says the same: a name or attribute, not a call that may differ each time."""
    return not any(isinstance(part, ast.Call | ast.Await | ast.Yield) for part in walk(node))
