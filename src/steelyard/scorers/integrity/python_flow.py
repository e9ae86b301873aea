"""Which checks stand in a block of Python, under which conditions, and whether anything can ever fail there."""

import ast
from dataclasses import dataclass, field, replace

from steelyard.scorers.integrity.model import Check
from steelyard.scorers.integrity.python_ends import (
    GOES_ON,
    HELPER,
    check_name,
    empty,
    ends,
    hushed,
    leaves,
    silent,
    suppresses,
    swallows,
)
from steelyard.scorers.integrity.python_known import Known
from steelyard.scorers.integrity.python_locals import KEPT, Fresh, Locals
from steelyard.scorers.integrity.python_nodes import always, children, constant, last_name, walk
from steelyard.scorers.integrity.python_values import Meaning, Say, meaning_of, meaning_of_call

_PLAIN = GOES_ON - {ast.Assert} | {ast.Expr, ast.Return, ast.Raise}  # statements that hold no others
UNREACHABLE, SWALLOWED = "unreachable", "swallowed"
MOST_CONDITIONS, SHORT = 12, 80
_HOLDING = frozenset({ast.If, ast.Try, ast.With, ast.Match, ast.For, ast.While})
_ASKING_KINDS = frozenset({
    ast.IfExp, ast.BoolOp, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp,
})  # fmt: skip
_ASKING = tuple(_ASKING_KINDS)


@dataclass(slots=True)
class Condition:
    """Something that must hold for a check to be made; it does not count where every branch makes one."""

    text: str
    counts: bool = True


Under = tuple[Condition, ...]


@dataclass(slots=True)
class Found:
    """The checks of a block and the plain functions it calls, with line, deadness and conditions of each call."""

    checks: list[Check] = field(default_factory=list)
    calls: dict[str, list[tuple[int, str, tuple[str, ...]]]] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)


def checks_in(
    body: list[ast.stmt],
    owner: str,
    say: Say,
    odd: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset()),
    params: frozenset[str] | None = None,
) -> Found:
    """Every check in a block, which belongs to `owner`; dead ones are marked.

    `odd`: what equals everything, and contexts in which every error is lost; `params`: the names the block is given,
    where it is all of a function.
    """
    walker = _Walker(body, owner, say)
    walker.known = Known(walker.locals, *odd, params)
    walker.block(body, "", ())
    return walker.found()


class _Walker:
    def __init__(self, body: list[ast.stmt], owner: str, say: Say) -> None:
        self.body, self.owner, self.say = body, owner, say
        self.locals = Locals(body)
        self.known = Known(self.locals)
        self.checks: list[tuple[Check, Under]] = []
        self.calls: list[tuple[str, int, str, Under]] = []
        self.fresh: Fresh = {}

    def found(self) -> Found:
        """What was found, with the conditions that count in the end."""
        found = Found([replace(check, under=_counted(under)) if under else check for check, under in self.checks])
        found.values = self.locals.values
        for name, line, dead, under in self.calls:
            found.calls.setdefault(name, []).append((line, dead, _counted(under)))
        return found

    def block(self, body: list[ast.stmt], dead: str, under: Under) -> bool:
        """Whether it asserts anything, or ends in an error."""
        asserts = False
        self.fresh.clear()
        for node in body:
            asserts |= (heard := self._heard(node, dead, under))
            if not dead and ends(node):
                dead = UNREACHABLE
            elif not heard and type(node) in _HOLDING and leaves(node):
                under = self._and(under, f"not left: {self._said(node)}")
            self._freshen(node)
        return asserts

    def _heard(self, node: ast.stmt, dead: str, under: Under) -> bool:
        checks, calls = len(self.checks), len(self.calls)
        self.statement(node, dead, under)
        if isinstance(node, ast.Raise) or len(self.checks) > checks:
            return True
        return any(HELPER.match(name) or name in {"fail", "skip"} for name, *_ in self.calls[calls:])

    def _freshen(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            self.fresh.update({target.id: node.value for target in node.targets if isinstance(target, ast.Name)})
        elif not isinstance(node, ast.Assert):
            self.fresh.clear()

    def _said(self, node: ast.AST) -> str:
        return self.say(node.test if isinstance(node, ast.If | ast.While) else node)[:SHORT]

    def _and(self, under: Under, *texts: str) -> Under:
        return (*under, *map(Condition, texts)) if len(under) < MOST_CONDITIONS else under

    def statement(self, node: ast.stmt, dead: str, under: Under) -> None:
        if type(node) in _PLAIN:
            self.expression(node, dead, under)
        elif isinstance(node, ast.Assert):
            said = meaning_of(self.known.told(node.test), self.say)
            self._add(node, said, dead, under)
            self.expression(node.test, dead, under)
        elif isinstance(node, ast.If | ast.While):
            self._asked(node, dead, under)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.expression(node.iter, dead, under)
            inside = self._and(under, f"for … in {self.say(node.iter)[:SHORT]}") if self._is_guard(node) else under
            self.block(node.body, dead or (UNREACHABLE if empty(node.iter) else ""), inside)
            self.block(node.orelse, dead, under)
        elif isinstance(node, ast.Try | ast.TryStar):
            inside = self._and(under, "no error that is caught") if any(map(silent, node.handlers)) else under
            self.block(node.body, dead or (SWALLOWED if swallows(node, self.body) else ""), inside)
            for handler in node.handlers:
                self.block(handler.body, dead, under)
            self.block(node.orelse, dead, inside)
            self.block(node.finalbody, dead, under)
        elif isinstance(node, ast.With | ast.AsyncWith):
            raised = any(isinstance(part, ast.Raise) for part in node.body)
            for item in node.items:
                itself = raised and isinstance(item.context_expr, ast.Call) and check_name(item.context_expr)
                self.expression(item.context_expr, dead or (SWALLOWED if itself else ""), under)
            hidden = any(suppresses(item.context_expr) or self._is_quiet(item.context_expr) for item in node.items)
            quiet = any(hushed(item.context_expr) for item in node.items)
            inside = self._and(under, "no error that is suppressed") if quiet else under
            self.block(node.body, dead or (SWALLOWED if hidden else ""), inside)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            unused = not node.decorator_list and node.name not in self.locals.loads
            lost = SWALLOWED if not node.decorator_list and self.locals.unheard(node) else ""
            self.block(node.body, dead or (UNREACHABLE if unused else lost), under)
        elif isinstance(node, ast.ClassDef):
            self._class(node, dead, under)
        elif isinstance(node, ast.Match):
            self._matched(node, dead, under)
        else:
            self.expression(node, dead, under)

    def _is_quiet(self, node: ast.expr) -> bool:
        return last_name(node.func if isinstance(node, ast.Call) else node) in self.known.quiet

    def _is_guard(self, node: ast.For | ast.AsyncFor) -> bool:
        """Whether a loop is no more than a condition: its values are not looked at, and there may be none."""
        if isinstance(node.iter, ast.List | ast.Tuple | ast.Set | ast.Constant):
            return False
        ranged = isinstance(node.iter, ast.Call) and last_name(node.iter.func) == "range"
        if ranged and isinstance(node.iter, ast.Call) and all(constant(given)[0] for given in node.iter.args):
            return False
        return self._unused(node.target)

    def _unused(self, target: ast.expr) -> bool:
        return not any(isinstance(part, ast.Name) and part.id in self.locals.loads for part in walk(target))

    def _asked(self, node: ast.If | ast.While, dead: str, under: Under) -> None:
        self.expression(node.test, dead, under)
        flag = always(node.test)
        inside, other = under, under
        if flag is None and not (isinstance(node.test, ast.Name) and node.test.id == "unknown"):
            joined = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
            parts = node.test.values if joined and isinstance(node.test, ast.BoolOp) else [node.test]
            inside = self._and(under, *(f"if {self.say(part)[:SHORT]}" for part in parts))
            other = self._and(under, f"if not {self._said(node)}")
        first = self.block(node.body, dead or (UNREACHABLE if flag is False else ""), inside)
        never = flag is True and isinstance(node, ast.If)
        second = self.block(node.orelse, dead or (UNREACHABLE if never else ""), other)
        if first and second and isinstance(node, ast.If):
            for condition in (*inside[len(under) :], *other[len(under) :]):
                condition.counts = False  # either way something is asserted

    def _class(self, node: ast.ClassDef, dead: str, under: Under) -> None:
        plain = not node.bases and not node.keywords and not node.decorator_list
        if plain and node.name not in self.locals.loads:
            dead = dead or UNREACHABLE
        inside = self._and(under, f"a method of {node.name} is called")
        for part in node.body:
            # Whoever has the object may call its methods.
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                self.block(part.body, dead, inside)
            else:
                self.statement(part, dead, under)

    def _matched(self, node: ast.Match, dead: str, under: Under) -> None:
        whole = any(isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None for case in node.cases)
        asserting, made = True, list[Condition]()
        for case in node.cases:
            inside = self._and(under, f"case {self.say(case.pattern)[:SHORT]}")
            made.extend(inside[len(under) :])
            asserting &= self.block(case.body, dead, inside)
        for condition in made if whole and asserting else ():
            condition.counts = False

    def expression(self, node: ast.AST, dead: str, under: Under) -> None:
        parts = walk(node)
        if _ASKING_KINDS.isdisjoint(map(type, parts)):  # as most are
            for one in parts:
                if isinstance(one, ast.Call):
                    self._call(one, dead, under)
            return
        todo: list[tuple[ast.AST, Under, str]] = [(node, under, dead)]
        for part, held, lost in todo:
            if isinstance(part, ast.Call):
                self._call(part, lost, held)
            if isinstance(part, _ASKING):
                todo += self._inside(part, held, UNREACHABLE if _is_idle(node, part) else lost)
            elif isinstance(part, ast.Call) and isinstance(part.func, ast.Lambda):
                todo += [(inner, held, lost) for inner in (part.func.body, *part.args)]
            else:
                todo += [(inner, held, lost) for inner in children(part)]

    def _inside(self, node: ast.AST, under: Under, dead: str) -> list[tuple[ast.AST, Under, str]]:
        """The parts of an expression that are not always looked at, with what must hold for it."""
        if isinstance(node, ast.IfExp):
            asked = self._and(under, f"if {self._said(node.test)}")
            return [(node.test, under, dead), (node.body, asked, dead), (node.orelse, asked, dead)]
        if isinstance(node, ast.BoolOp):
            asked = self._and(under, f"if {self._said(node.values[0])}")
            return [(node.values[0], under, dead), *((value, asked, dead) for value in node.values[1:])]
        if isinstance(node, ast.Lambda):
            return [(node.body, self._and(under, "a lambda is called"), dead)]
        asked = under
        if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
            said = [f"if {self._said(test)}" for part in node.generators for test in part.ifs]
            if any(empty(part.iter) for part in node.generators):
                dead = dead or UNREACHABLE
            elif self._unused(node.generators[0].target) and not isinstance(node.generators[0].iter, ast.List):
                said.append(f"for … in {self._said(node.generators[0].iter)}")
            asked = self._and(under, *said) if said else under
        return [(part, asked, dead) for part in children(node)]

    def _call(self, node: ast.Call, dead: str, under: Under) -> None:
        name = check_name(node)
        if name:
            self._add(node, meaning_of_call(name, node, self.say), dead, under)
        elif called := last_name(node.func):
            self.calls.append((called, node.lineno, dead, under))

    def _add(self, node: ast.Assert | ast.Call, said: Meaning, dead: str, under: Under) -> None:
        strength = self.known.strength(node, said, self.fresh)
        subjects, parts = (self._meant(given) for given in (said.subjects, said.parts))
        made = Check(node.lineno, self.say(node), self.owner, strength, dead, subjects, said.tolerance, parts)
        self.checks.append((made, under))

    def _meant(self, said: tuple[str, ...]) -> tuple[str, ...]:
        """Sources of values, and the same with the names in them replaced by what they stand for."""
        if not said or not self.locals.values:
            return said
        return tuple(dict.fromkeys((*said, *(more for one in said for more in self.locals.expanded(one, self.say)))))


def _is_idle(node: ast.AST, part: ast.AST) -> bool:
    """Whether a statement makes a generator, or gives a lambda to what keeps it, and that is all."""
    if not isinstance(node, ast.Expr):
        return False
    if isinstance(node.value, ast.Call) and isinstance(part, ast.Lambda):
        return last_name(node.value.func) in KEPT and part in node.value.args
    return part is node.value and isinstance(part, ast.GeneratorExp)


def _counted(under: Under) -> tuple[str, ...]:
    return tuple(condition.text for condition in under if condition.counts)
