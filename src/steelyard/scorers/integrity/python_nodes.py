"""The nodes of a Python tree: how to walk them, and which expressions always have one value."""

import ast
from functools import cache

_UNTOLD = frozenset({ast.Name, ast.Attribute, ast.Subscript})
_OPEN = _UNTOLD | {ast.Call, ast.Compare}  # may have any value
BIG = 10**9
_SILENT = frozenset({"ctx", "kind", "type_comment"})
_NAMED = {"str", "repr", "len", "list", "dict", "set", "tuple", "sorted", "type", "bool", "int", "float", "id", "hash"}
_SAME_TWICE = frozenset(_NAMED | {"copy", "deepcopy"})  # calls that say the same of the same
_MADE = frozenset(_NAMED | {"isinstance", "any", "all", "hasattr", "callable"})  # calls that never give None
_TRUE_OR_FALSE = frozenset({"bool", "isinstance", "issubclass", "any", "all", "hasattr", "callable"})
_ALL_HAVE = frozenset({"__class__", "__doc__", "__eq__", "__hash__", "__repr__", "__str__", "__init__", "__dir__"})
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
        debug = kind is ast.Name and node.id == "__debug__"  # type: ignore[attr-defined]  # it is one
        return (True, True) if debug else (False, None)
    if isinstance(node, ast.UnaryOp):
        known, value = constant(node.operand)
        if known and isinstance(node.op, ast.Not):
            return True, not value
        if known and isinstance(node.op, ast.USub) and isinstance(value, int | float):
            return True, -value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return _computed(node.op, constant(node.left), constant(node.right))
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and not node.elts:
        return True, ()
    if isinstance(node, ast.Dict) and not node.keys:
        return True, {}
    return False, None


def _computed(op: ast.operator, left: tuple[bool, object], right: tuple[bool, object]) -> tuple[bool, object]:
    """A sum of strings, or what comes of two numbers that are not large."""
    (a_known, a), (b_known, b) = left, right
    if a_known and b_known and isinstance(a, str) and isinstance(b, str) and isinstance(op, ast.Add):
        return True, a + b
    if a_known and b_known and isinstance(a, int | float) and isinstance(b, int | float) and max(abs(a), abs(b)) < BIG:
        return True, a + b if isinstance(op, ast.Add) else a - b if isinstance(op, ast.Sub) else a * b
    return False, None


def always(node: ast.expr) -> bool | None:
    """Whether an expression is always true, always false, or (None) open."""
    if type(node) in _UNTOLD:
        if isinstance(node, ast.Attribute):
            return True if node.attr in {"__name__", "__qualname__", "__class__", "__module__"} else None
        return True if isinstance(node, ast.Name) and node.id == "__debug__" else None
    known, value = constant(node)
    if known:
        return bool(value)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return True if not any(isinstance(item, ast.Starred) for item in node.elts) else None
    if isinstance(node, ast.Dict | ast.Lambda):
        return True
    if isinstance(node, ast.JoinedStr):
        return True if any(_is_said(part) for part in node.values) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd):
        decides = isinstance(node.op, ast.BitOr)
        return decides if decides in (always(node.left), always(node.right)) else None
    if isinstance(node, ast.NamedExpr):
        return always(node.value)
    if isinstance(node, ast.IfExp):
        flag, body, other = always(node.test), always(node.body), always(node.orelse)
        return (body if body is other else None) if flag is None else body if flag else other
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


def _is_said(part: ast.expr) -> bool:
    """Whether a part of an f-string is never empty."""
    if isinstance(part, ast.FormattedValue):
        return is_true_or_false(part.value)
    return isinstance(part, ast.Constant) and bool(part.value)


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
    plain = {ast.dump(_unboxed(value)) for value in values}
    return any(
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not) and ast.dump(_unboxed(value.operand)) in plain
        for value in values
    )


def _unboxed(node: ast.expr) -> ast.expr:
    """What stands in `bool(…)`."""
    boxed = isinstance(node, ast.Call) and last_name(node.func) == "bool" and len(node.args) == 1
    return node.args[0] if boxed and isinstance(node, ast.Call) else node


def always_compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool | None:
    """The same for a comparison of two expressions."""
    (known_left, a), (known_right, b) = _measured(left), _measured(right)
    if known_left and known_right:
        return _evaluated(a, op, b)
    if isinstance(op, ast.IsNot | ast.NotEq) and known_right and b is None and (is_literal(left) or _is_made(left)):
        return True
    if isinstance(op, ast.IsNot | ast.NotEq) and any(_is_fresh(side) for side in (left, right)):
        return True
    if known_right and _is_size(left):
        return _always_size(op, b)
    if known_left and _is_size(right) and type(op) in _TURNED:
        return _always_size(_TURNED[type(op)](), a)
    if isinstance(op, ast.In) and isinstance(right, ast.List | ast.Tuple | ast.Set) and is_true_or_false(left):
        return True if {(True, True), (True, False)} <= {constant(item)[:2] for item in right.elts} else None
    if alike(left, right) and pure(left):
        return True if isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE) else None
    if isinstance(op, ast.In) and isinstance(right, ast.List | ast.Tuple | ast.Set) and pure(left):
        return True if any(alike(item, left) for item in right.elts) else None
    return None


_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.NotEq: ast.NotEq,
}  # fmt: skip


def _always_size(op: ast.cmpop, other: object) -> bool | None:
    """Whether a size, which is never below zero, always compares so."""
    if not isinstance(other, int | float):
        return None
    if (isinstance(op, ast.GtE) and other <= 0) or (isinstance(op, ast.Gt | ast.NotEq) and other < 0):
        return True
    return None


def _is_size(node: ast.expr) -> bool:
    sized = isinstance(node, ast.Call) and last_name(node.func) in {"len", "abs"}
    return sized or is_true_or_false(node)


def _is_made(node: ast.expr) -> bool:
    """Whether an expression is never None, whatever it is made of."""
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MADE
    return made or is_true_or_false(node)


def _is_fresh(node: ast.expr) -> bool:
    """`object()`, which equals nothing else."""
    return isinstance(node, ast.Call) and last_name(node.func) == "object" and not node.args


def is_true_or_false(node: ast.expr) -> bool:
    """Whether an expression is one of the two by what it is."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TRUE_OR_FALSE


def _measured(node: ast.expr) -> tuple[bool, object]:
    """A constant, the length of one, or what is always so."""
    if is_true_or_false(node) and (flag := always(node)) is not None:
        return True, flag
    if is_len(node) and isinstance(node, ast.Call) and len(node.args) == 1:
        given = node.args[0]
        if isinstance(given, ast.List | ast.Tuple) and not any(isinstance(one, ast.Starred) for one in given.elts):
            return True, len(given.elts)
        known, value = constant(node.args[0])
        return known and isinstance(value, str | tuple | dict), len(value) if isinstance(
            value, str | tuple | dict
        ) else 0
    return constant(node)


def alike(left: ast.expr, right: ast.expr) -> bool:
    """Whether two expressions are written alike; most differ in their kind already."""
    todo: list[tuple[object, object]] = [(left, right)]
    for a, b in todo:
        if type(a) is not type(b):
            return False
        if isinstance(a, ast.AST):
            todo += [(getattr(a, name, None), getattr(b, name, None)) for name in a._fields if name not in _SILENT]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            todo += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


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
    if name == "isinstance" and len(node.args) == 2 and _is_own_type(node.args[0], node.args[1]):
        return True
    if name == "hasattr" and len(node.args) == 2:
        return True if constant(node.args[1])[1] in _ALL_HAVE else None
    if name in {"object", "repr", "type", "id"} and isinstance(node.func, ast.Name):
        return True
    if name == "str" and len(node.args) == 1 and is_true_or_false(node.args[0]):
        return True
    if name in {"any", "all"} and len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
        parts = [always(item) for item in node.args[0].elts]
        if name == "any" and any(part is True for part in parts):
            return True
        return True if name == "all" and all(part is True for part in parts) else None
    return None


def _is_own_type(value: ast.expr, kind: ast.expr) -> bool:
    """`isinstance(x, type(x))`, or of what is true or false by itself."""
    if last_name(kind) == "bool":
        return is_true_or_false(value)
    typed = isinstance(kind, ast.Call) and last_name(kind.func) == "type" and len(kind.args) == 1
    return typed and isinstance(kind, ast.Call) and alike(kind.args[0], value)


def is_literal(node: ast.expr) -> bool:
    """Whether a value stands there as it is."""
    if type(node) in _OPEN:
        return False
    return constant(node)[0] or isinstance(node, ast.List | ast.Dict | ast.Tuple | ast.Set | ast.JoinedStr | ast.Lambda)


def is_len(node: ast.expr) -> bool:
    """Whether it is a call of `len`."""
    return isinstance(node, ast.Call) and last_name(node.func) == "len"


def pure(node: ast.expr) -> bool:
    """Whether saying it twice says the same: a name or attribute, not a call that may differ each time."""
    return not any(
        isinstance(part, ast.Await | ast.Yield)
        or (isinstance(part, ast.Call) and last_name(part.func) not in _SAME_TWICE)
        for part in walk(node)
    )
