"""Which checks stand in a block of Python, and whether anything can ever fail there."""

import ast
from dataclasses import dataclass, field

from steelyard.scorers.integrity.model import EXACT, PARTIAL, Check
from steelyard.scorers.integrity.python_nodes import always, constant, last_name, walk
from steelyard.scorers.integrity.python_values import CATCHES_FAILURES, Meaning, Say, meaning_of, meaning_of_call

_GOES_ON = frozenset({ast.Assert, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Pass})
_PLAIN = _GOES_ON - {ast.Assert} | {ast.Expr, ast.Return, ast.Raise}  # statements that hold no others
UNREACHABLE, SWALLOWED = "unreachable", "swallowed"
LEAVES = frozenset({"exit", "_exit", "abort", "skip", "skipTest", "xfail", "quit"})
RAISING = frozenset({"raises", "warns", "deprecated_call", "assertRaises", "assertRaisesRegex", "assertWarns"})


@dataclass(slots=True)
class Found:
    """The checks of a block and the plain functions it calls, with the line and deadness of each call."""

    checks: list[Check] = field(default_factory=list)
    calls: dict[str, list[tuple[int, str]]] = field(default_factory=dict)


def checks_in(body: list[ast.stmt], owner: str, say: Say) -> Found:
    """Every check in a block, which belongs to `owner`; dead ones are marked."""
    walker = _Walker(body, owner, say)
    walker.block(body, "")
    return walker.found


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


class _Walker:
    def __init__(self, body: list[ast.stmt], owner: str, say: Say) -> None:
        self.found = Found()
        self.body, self.owner, self.say = body, owner, say

    def block(self, body: list[ast.stmt], dead: str) -> None:
        for node in body:
            self.statement(node, dead)
            if not dead and _ends(node):
                dead = UNREACHABLE

    def statement(self, node: ast.stmt, dead: str) -> None:
        if type(node) in _PLAIN:
            self.expression(node, dead)
        elif isinstance(node, ast.Assert):
            self._add(node, meaning_of(node.test, self.say), dead)
            self.expression(node.test, dead)
        elif isinstance(node, ast.If | ast.While):
            self.expression(node.test, dead)
            flag = always(node.test)
            self.block(node.body, dead or (UNREACHABLE if flag is False else ""))
            never = flag is True and isinstance(node, ast.If)
            self.block(node.orelse, dead or (UNREACHABLE if never else ""))
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.expression(node.iter, dead)
            self.block(node.body, dead or (UNREACHABLE if _empty(node.iter) else ""))
            self.block(node.orelse, dead)
        elif isinstance(node, ast.Try | ast.TryStar):
            self.block(node.body, dead or (SWALLOWED if _swallows(node, self.body) else ""))
            for handler in node.handlers:
                self.block(handler.body, dead)
            self.block(node.orelse, dead)
            self.block(node.finalbody, dead)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                self.expression(item.context_expr, dead)
            hidden = any(_suppresses(item.context_expr) for item in node.items)
            self.block(node.body, dead or (SWALLOWED if hidden else ""))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            unused = not node.decorator_list and not self._uses(node.name)
            self.block(node.body, dead or (UNREACHABLE if unused else ""))
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                # Whoever has the object may call its methods.
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                    self.block(part.body, dead)
                else:
                    self.statement(part, dead)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self.block(case.body, dead)
        else:
            self.expression(node, dead)

    def _uses(self, name: str) -> bool:
        return any(isinstance(node, ast.Name) and node.id == name for part in self.body for node in walk(part))

    def expression(self, node: ast.AST, dead: str) -> None:
        for part in walk(node):
            if not isinstance(part, ast.Call):
                continue
            name = check_name(part)
            if name:
                self._add(part, meaning_of_call(name, part, self.say), dead)
            else:
                called = last_name(part.func)
                if called:
                    self.found.calls.setdefault(called, []).append((part.lineno, dead))

    def _add(self, node: ast.Assert | ast.Call, meaning: Meaning, dead: str) -> None:
        strength, said = self._known(node, meaning), meaning
        self.found.checks.append(
            Check(node.lineno, self.say(node), self.owner, strength, dead, said.subjects, said.tolerance, said.parts)
        )

    def _known(self, node: ast.Assert | ast.Call, meaning: Meaning) -> int:
        """The strength of a check; less if its expected value was made by what it checks."""
        if meaning.strength < EXACT or len(meaning.subjects) != 2:
            return meaning.strength
        made = {meaning.subjects, meaning.subjects[::-1]}
        for part in self.body:
            if part.lineno >= node.lineno:
                break
            if not isinstance(part, ast.Assign) or not isinstance(part.targets[0], ast.Name):
                continue
            if (part.targets[0].id, self.say(part.value)) in made:
                return PARTIAL
        return meaning.strength


def _ends(node: ast.stmt) -> bool:
    """Whether nothing after this statement in its block can run."""
    if type(node) in _GOES_ON:
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
        body, other = any(map(_ends, node.body)), any(map(_ends, node.orelse))
        return (flag is True and body) or (flag is False and other) or (body and other and bool(node.orelse))
    if isinstance(node, ast.While):
        return always(node.test) is True and not any(isinstance(part, ast.Break) for part in walk(node))
    if isinstance(node, ast.With | ast.AsyncWith):
        return any(map(_ends, node.body)) and not any(
            isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) in {*RAISING, "suppress"}
            for item in node.items
        )
    if isinstance(node, ast.Try):
        return any(map(_ends, node.finalbody))
    return False


def _empty(node: ast.expr) -> bool:
    if constant(node) in ((True, ()), (True, {}), (True, "")):
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
        return any(map(_empty, node.args))
    return name in {"list", "tuple", "set", "dict", "frozenset"} and not node.args


def _swallows(node: ast.Try | ast.TryStar, body: list[ast.stmt]) -> bool:
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


def _suppresses(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    kinds = [item for arg in node.args[:4] for item in (arg.elts if isinstance(arg, ast.Tuple) else [arg])]
    if name == "suppress":
        return any(last_name(kind) in CATCHES_FAILURES for kind in kinds)
    return name in {"raises", "assertRaises"} and any(last_name(kind) in CATCHES_FAILURES for kind in kinds[:1])
