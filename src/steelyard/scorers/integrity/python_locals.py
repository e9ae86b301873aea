"""What the names of a block of Python stand for: values, stand-ins, functions that run where nobody hears them."""

import ast
import re
from collections import Counter, defaultdict

from steelyard.scorers.integrity.python_nodes import (
    Function,
    alike,
    children,
    constant,
    is_literal,
    last_name,
    pure,
    walk,
)
from steelyard.scorers.integrity.python_values import Say
from steelyard.scorers.integrity.python_wrapped import BUILT_IN

MOCKS = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock", "PropertyMock", "create_autospec", "stub"})
COPIES = frozenset({"copy", "deepcopy"})
_CARRIES = COPIES | {"loads", "dumps"}
# Whoever is given a function by these runs it where a failure ends a thread, a callback or the process.
UNHEARD = frozenset({
    "Thread", "Timer", "Process", "start_new_thread", "register", "finalize", "signal", "settrace", "setprofile",
    "call_soon", "call_later", "call_at", "call_soon_threadsafe", "add_done_callback", "add_callback", "add_reader",
})  # fmt: skip
# And these keep the failure in what they return.
KEPT = frozenset({
    "submit", "create_task", "ensure_future", "apply_async", "map_async", "run_in_executor", "gather", "wait",
    "wait_for", "shield", "Task", "map", "filter", "partial", "starmap", "iter", "imap", "delay",
})  # fmt: skip
_NAME = re.compile(r"(?<![\w.'])[A-Za-z_]\w*+")
LONGEST, MOST_STEPS, MOST_NODES = 400, 4, 60
Fresh = dict[str, ast.expr]


class Locals:
    """One pass over a block: its names, each with the one value it is given, and how its functions are used."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.values: dict[str, ast.expr] = {}
        self.every: dict[str, list[ast.expr]] = defaultdict(list)
        self.attributes: dict[str, ast.expr] = {}
        self.loads: set[str] = set()
        self.functions: dict[str, Function] = {}
        self._calls: Counter[str] = Counter()
        self._idle: Counter[str] = Counter()
        self._handed: dict[str, list[tuple[str, bool]]] = defaultdict(list)
        self.bound: Counter[str] = Counter()
        bound, bare = self.bound, set[int]()
        for part in body:
            for node in walk(part):
                if isinstance(node, ast.Name):
                    if isinstance(node.ctx, ast.Store):
                        bound[node.id] += 1
                    elif id(node) not in bare:
                        self.loads.add(node.id)
                elif isinstance(node, ast.Call):
                    self._called(node, id(node) in bare)
                elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
                    self._assigned(node)
                elif isinstance(node, ast.Expr):
                    _mark_bare(node.value, bare)
                elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    self.functions[node.name] = node
        self.values = {name: value for name, value in self.values.items() if bound[name] == 1}
        self._said: dict[str, str] = {}

    def _assigned(self, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is None:
            return
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                self.values[target.id] = node.value
                self.every[target.id].append(node.value)
            elif isinstance(target, ast.Attribute):
                self.attributes[dotted(target)] = node.value

    def _called(self, node: ast.Call, bare: bool) -> None:
        if isinstance(node.func, ast.Name):
            self._calls[node.func.id] += 1
            self._idle[node.func.id] += bare
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(given, ast.Name):
                self._handed[given.id].append((last_name(node.func), bare))

    def unheard(self, node: Function) -> bool:
        """Whether a function is only run where its failure is lost, or not at all though it is called."""
        name, handed = node.name, self._handed.get(node.name, [])
        if self._calls[name]:
            lazy = isinstance(node, ast.AsyncFunctionDef) or yields(node.body)
            return lazy and not handed and self._calls[name] == self._idle[name]
        return bool(handed) and all(sink in UNHEARD or (sink in KEPT and bare) for sink, bare in handed)

    def resolved(self, node: ast.expr, fresh: Fresh | None = None) -> ast.expr:
        """What an expression stands for: through names, copies, and stand-ins made right here."""
        for _ in range(MOST_STEPS):
            if isinstance(node, ast.Name) and (node.id in self.values or node.id in (fresh or {})):
                node = (fresh or {}).get(node.id) or self.values[node.id]
            elif isinstance(node, ast.NamedExpr):
                node = node.value
            elif isinstance(node, ast.Call):
                given = node.args[0] if last_name(node.func) in COPIES and node.args else self._returned(node.func)
                if given is None:
                    break
                node = given
            else:
                break
        return node

    def is_stand_in(self, node: ast.expr) -> bool:
        """Whether a value is what a mock or a function made here returns."""
        if isinstance(node, ast.Name) and node.id in self.values:
            node = self.values[node.id]
        return isinstance(node, ast.Call) and self._returned(node.func) is not None

    def _returned(self, function: ast.expr) -> ast.expr | None:
        if isinstance(function, ast.Lambda):
            return function.body
        if isinstance(function, ast.Call) and last_name(function.func) in MOCKS:
            return next((keyword.value for keyword in function.keywords if keyword.arg == "return_value"), None)
        name = dotted(function)
        if not name:
            return None
        made = self.values.get(name.split(".")[0])
        if isinstance(made, ast.Lambda) and "." not in name:
            return made.body
        if isinstance(made, ast.Call) and last_name(made.func) in MOCKS:
            given = [keyword.value for keyword in made.keywords if keyword.arg == "return_value"]
            return self.attributes.get(f"{name}.return_value", given[0] if given and "." not in name else None)
        own = self.functions.get(name)
        last = own.body[-1] if own is not None and len(own.body) == 1 else None
        return last.value if isinstance(last, ast.Return) else None

    def is_itself(self, left: ast.expr, right: ast.expr, fresh: Fresh) -> bool:
        """Whether two sides are one value by how they were made; `fresh`: names that were given one just before."""
        one, other = self.resolved(left, fresh), self.resolved(right, fresh)
        if one is left and other is right:
            return False
        if one is other:
            return True
        if not alike(one, other):
            return False
        if constant(one)[0] and not isinstance(one, ast.List | ast.Dict | ast.Set):
            return True
        names = {node.id for node in (left, right) if isinstance(node, ast.Name) and node.id in self.values}
        return self.is_stand_in(left) or self.is_stand_in(right) or (names <= fresh.keys() and pure(one))

    def is_made_of(self, left: ast.expr, right: ast.expr, fresh: Fresh) -> bool:
        """Whether one side is made of the other, or both of the same: then nothing else is said of it."""
        sides = self.resolved(left, fresh), self.resolved(right, fresh)
        if alike(*sides) and not is_literal(sides[0]):
            return True
        for one, others in ((left, (right, sides[1])), (right, (left, sides[0]))):
            if is_literal(one) and not isinstance(one, ast.NamedExpr):
                continue
            if any(_holds(other, one) for other in others):
                return True
        return False

    def is_given(self, left: ast.expr, right: ast.expr) -> bool:
        """Whether a name is given the very value it is compared with, should it not have it."""
        if not isinstance(left, ast.Name) or not is_literal(right):
            return False
        values = self.every.get(left.id, [])
        if len(values) > 1 and any(alike(value, right) for value in values):
            return True
        made = values[0] if len(values) == 1 else None
        offered = made.values if isinstance(made, ast.BoolOp) else []
        if isinstance(made, ast.IfExp):
            offered = [made.body, made.orelse]
        return any(alike(value, right) for value in offered)

    def equals_all(self, node: ast.expr) -> bool:
        """Whether an object was made here that says it equals whatever it is compared with."""
        if isinstance(node, ast.Name) and f"{node.id}.__eq__" in self.attributes:
            return True
        made = self.resolved(node)
        given = made.func if isinstance(made, ast.Call) else None
        typed = isinstance(given, ast.Call) and last_name(given.func) == "type"
        return typed and any(isinstance(part, ast.Constant) and part.value == "__eq__" for part in walk(made))

    def expanded(self, said: str, say: Say) -> list[str]:
        """The source of an expression with its names replaced by what they stand for, step by step."""
        found: list[str] = []
        for _ in range(MOST_STEPS):
            more = _NAME.sub(lambda match: self._value_said(match[0], say), said)[:LONGEST]
            if more == said:
                break
            found.append(said := more)
        return found

    def _value_said(self, name: str, say: Say) -> str:
        if name not in self._said:
            value = self.values.get(name)
            short = value is not None and not is_literal(value) and not isinstance(value, ast.Lambda)
            self._said[name] = say(value) if short and value is not None else name
        return self._said[name]


def _holds(whole: ast.expr, one: ast.expr) -> bool:
    """Whether an expression is a part of another one; very long ones are not looked through."""
    parts = walk(whole)
    if len(parts) > MOST_NODES or len(walk(one)) > MOST_NODES:
        return False
    if any(isinstance(part, ast.Call) and not _is_plain(part.func, one) for part in parts):
        return False  # `f(x) == x` says something of `f`
    return any(part is not whole and isinstance(part, ast.expr) and alike(part, one) for part in parts)


def _is_plain(function: ast.expr, one: ast.expr) -> bool:
    """A built-in function, a copy, or a method of the value itself."""
    if isinstance(function, ast.Name):
        return function.id in BUILT_IN
    return isinstance(function, ast.Attribute) and (function.attr in _CARRIES or alike(function.value, one))


def _mark_bare(node: ast.expr, bare: set[int]) -> None:
    """Every call of `a(b).c()` that stands alone, and what is given to one that only keeps it."""
    bare.add(id(node))
    while isinstance(node, ast.Call):
        bare.add(id(node))
        if last_name(node.func) in KEPT:
            bare.update(id(given) for given in node.args if isinstance(given, ast.Call))
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func


def dotted(node: ast.expr) -> str:
    """A dotted name as it is written; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *parts[::-1]]) if isinstance(node, ast.Name) else ""


def yields(body: list[ast.stmt]) -> bool:
    """Whether a function with this body is a generator."""
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(body))


def own_nodes(body: list[ast.stmt]) -> list[ast.AST]:
    """Every node of a block but those of the functions and classes in it."""
    found: list[ast.AST] = [*body]
    for node in found:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            found += children(node)
    return found
