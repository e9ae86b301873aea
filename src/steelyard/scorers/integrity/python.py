"""Reads Python tests by their syntax tree."""

import ast
import gc
import re
import warnings
from bisect import bisect_right
from dataclasses import dataclass, replace
from hashlib import blake2b

from steelyard.scorers.integrity import tolerant
from steelyard.scorers.integrity.lines import line_view
from steelyard.scorers.integrity.model import TOO_DEEP, TOO_LARGE, Check, Loop, Mark, TestCase, View
from steelyard.scorers.integrity.python_cases import cases, lists_in, loops, loops_in, size
from steelyard.scorers.integrity.python_ends import HELPER, cut_at, guards_in
from steelyard.scorers.integrity.python_flow import Found, checks_in
from steelyard.scorers.integrity.python_nodes import Function, constant, last_name, walk
from steelyard.scorers.integrity.python_overrides import equals_all, is_undone, overrides, quiet_contexts, replaced
from steelyard.scorers.integrity.python_runs import idle, patched
from steelyard.scorers.integrity.python_skips import Names, marks_in
from steelyard.scorers.integrity.python_values import unparsed, written

MAX_CHARS = 300_000
MAX_BROKEN = 60_000
MAX_NESTING = 90
MAX_INDENT = 400
_BINDINGS = re.compile(
    r"(?m)^[ \t]*+(?:import|from)[ \t](?=[^\n(]*+$)[^\n]*\b(?:pytest|unittest\w*|nose|testtools)\b[^\n]*$"
    r"|^\w++ *+=[^\n(]*\b(?:skip|xfail)\b[^\n]*$"
)
_DERIVED = re.compile(r"(?m)^[ \t]*class[ \t]+\w+[ \t]*\(([^)]{0,1000})\)")
# No skip without one of these: names, the ways to fetch them by a string, and what the module's own names stand for.
_SKIPPING = re.compile(
    r"skip|Skip|xfail|expectedFailure|__test__|collect_ignore|getattr|__import__|import_module|mark"
    r"|del test|\btest\w*+ = None"
)
_DEFINED = re.compile(r"def[ \t]+(\w+)|assert")


@dataclass(frozen=True, slots=True)
class Python:
    """The analyser of Python files and notebooks."""

    family: str = "python"

    def context(self, text: str) -> str:
        """The imports of test frameworks and aliases of skips, the functions that assert, the classes derived from."""
        named = [",".join(sorted(names)) for names in (_names_that_assert(text), _bases(text))]
        return "\n".join([*(line.strip() for line in _BINDINGS.findall(text)), f"# {named[0]}", f"# {named[1]}"])

    def syntax(self, text: str, context: str = "", lines: tuple[int, ...] = ()) -> View:
        """By syntax; statement by statement where the whole does not parse."""
        if len(text) > MAX_CHARS:
            return View(note=TOO_LARGE)
        if not text:
            return View("syntax", around=("",) * len(lines))
        tree, note = parse(text)
        if tree is None:
            return View(note=note)
        try:
            view = _Module(tree, text, context, note).view()
            return replace(view, around=_around(tree, text, lines)) if lines else view
        except (RecursionError, MemoryError):
            return View(note=TOO_DEEP)

    def completed(self, text: str, context: str = "") -> View:
        """Not needed: what does not parse is read statement by statement."""
        return View(note="does not parse")

    def lines(self, text: str, note: str = "") -> View:
        """By line rules alone."""
        return line_view("python", text, note)


def parse(text: str) -> tuple[ast.Module | None, str]:
    """The tree of a module, and a note when it did not parse as a whole; None when too large to be picked apart."""
    if _too_deep(text):
        if len(text) > MAX_BROKEN:
            return None, TOO_DEEP
        return tolerant.parse(text), "nested too deep to parse, read statement by statement"
    was_on = gc.isenabled()
    gc.disable()  # a tree holds no cycles, and collecting while it grows doubles the time
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        if len(text) > MAX_BROKEN:
            return None, "does not parse"
        return tolerant.parse(text), "does not parse, read statement by statement"
    finally:
        if was_on:
            gc.enable()


def _too_deep(text: str) -> bool:
    """Whether a parser written in C might run out of stack."""
    if tolerant.nests_deeper(text, MAX_NESTING):
        return True
    if " " * MAX_INDENT in text and re.search(r"(?m)^ {400,}\S", text):
        return True
    return re.search(r"(?:(?:not|-|~|\+|\*\*|lambda:|await)\s*+){200}|\b(?:\w++ if \w++ else ){100}", text) is not None


def _names_that_assert(text: str) -> set[str]:
    """The functions in whose text an assertion stands, roughly: a part of the file may call them."""
    found, name = set(), ""
    for match in _DEFINED.finditer(text):
        if match.group(1):
            name = match.group(1)
        else:
            found.add(name)
    return {name for name in found if name and not name.startswith("test")}


def _around(tree: ast.Module, text: str, lines: tuple[int, ...]) -> tuple[str, ...]:
    """Whether a string goes over each of these lines; blocks are told by indentation, which can't be hidden."""
    if not any(sign in text for sign in ('"""', "'''", "\\\n")):
        return ("",) * len(lines)
    inside: set[int] = set()
    for node in walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno and node.end_lineno > node.lineno:
            inside.update(range(node.lineno, node.end_lineno - 1))
    return tuple("a string" if line in inside else "" for line in lines)


def _bases(text: str) -> set[str]:
    """The last names of all classes that others are derived from."""
    return {name for given in _DERIVED.findall(text) for name in re.findall(r"(\w+)[ \t]*(?:,|\[|$)", given)}


@dataclass(slots=True)
class _Unit:
    """A function of the module: its own checks and the functions of the module it calls."""

    node: Function
    name: str
    found: Found
    collected: bool = False


class _Module:
    """One pass over a module: its functions, what each asserts, what each calls."""

    def __init__(self, tree: ast.Module, text: str, context: str, note: str) -> None:
        self.tree, self.text, self.note = tree, text, note
        self.lines = [] if note else text.split("\n")
        self.say = written(self.lines) if self.lines else unparsed
        self.bindings, helpers, bases = [*f"\n{context}".rsplit("\n# ", 2), "", ""][:3]
        self.helpers = set(helpers.split(","))
        self.units: list[_Unit] = []
        self.loose: list[Check] = []
        self.rest: list[ast.stmt] = []
        self._owners: list[tuple[int, int, str]] = []
        self._bases = _bases(text).union(bases.split(","))
        self.nodes = walk(tree)
        self.odd = (equals_all(self.nodes), quiet_contexts(self.nodes))
        self.lists = lists_in(tree.body)
        self.functions: dict[str, Function] = {
            node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)
        }
        self._block(tree.body, "", True)
        self.asserting = self._asserting()

    def _block(self, body: list[ast.stmt], inside: str, collected: bool) -> None:
        loose: list[ast.stmt] = []
        for node in body:
            if self.note and loose and _is_inner(node):
                loose.append(node)
            elif isinstance(node, ast.ClassDef):
                self._block(node.body, f"{inside}{node.name}.", collected and self._collects(node))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._function(node, inside, collected)
            elif isinstance(node, ast.If | ast.Try | ast.With) and _defines(node):
                for part in ("body", "orelse", "finalbody"):
                    off = (
                        part == "body"
                        and isinstance(node, ast.If)
                        and constant(node.test) in ((True, False), (True, 0))
                    )
                    self._block(getattr(node, part, []), inside, collected and not off)
            else:
                loose.append(node)
        self.rest += loose
        self.loose.extend(checks_in(loose, inside.rstrip("."), self.say, self.odd).checks)

    def _collects(self, node: ast.ClassDef) -> bool:
        """Pytest takes `Test…` (or `test_…`) classes without a constructor; unittest what is derived; and bases."""
        if any(isinstance(item, ast.FunctionDef) and item.name == "__init__" for item in node.body) and not node.bases:
            return False
        return node.name[:4].lower() == "test" or bool(node.bases) or node.name in self._bases

    def _function(self, node: Function, inside: str, collected: bool) -> None:
        is_test = collected and node.name.startswith("test") and not _is_fixture(node)
        is_test = is_test and not (node.decorator_list and is_undone(node, self.functions))
        name = inside + node.name
        given = frozenset(part.arg for part in walk(node.args) if isinstance(part, ast.arg))
        self.units.append(_Unit(node, name, checks_in(node.body, name, self.say, self.odd, given), is_test))
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        self._owners.append((first, node.end_lineno or node.lineno, name))

    def _asserting(self) -> set[str]:
        """The names of functions that assert, themselves or through one another."""
        names = {unit.node.name for unit in self.units if any(check.counts for check in unit.found.checks)}
        own = {unit.node.name for unit in self.units}
        names |= self.helpers - own
        for _ in range(4):
            more = {unit.node.name for unit in self.units if unit.found.calls.keys() & names}
            if more <= names:
                break
            names |= more
        return names

    def _skips(self) -> tuple[Mark, ...]:
        if not _SKIPPING.search(self.text) and not _SKIPPING.search(self.bindings):
            return ()
        nodes = self.nodes
        outside = walk(parse(self.bindings)[0] or ast.Module([], [])) if self.bindings else []
        marks = marks_in(nodes, Names([*outside, *nodes]), self.say)
        return tuple(Mark(mark.line, mark.text, self._owner(mark.line)) for mark in marks)

    def view(self) -> View:
        """Everything that was seen."""
        checks = [*self.loose]
        for unit in self.units:
            checks.extend(unit.found.checks)
        checks.sort(key=lambda check: check.line)
        tests = [self._test(unit) for unit in self.units]
        if self.loose or self.note:
            cut = cut_at(self.tree.body)
            through = loops_in(self.rest, self.lists, self.say)
            tests.append(TestCase("<module>", 1, tuple(self.loose), body=f"<module> {cut}", cut=cut, loops=through))
        return View(
            "syntax", tuple(checks), self._skips(), tuple(tests), self.note,
            overrides=tuple(overrides(self.nodes, self.say)), lists=self._lists(),
            replaced=tuple(replaced(self.tree.body, self.say)),
        )  # fmt: skip

    def _lists(self) -> tuple[Loop, ...]:
        found = ((name, value, size(value, self.lists)) for name, value in self.lists.items())
        return tuple(Loop(value.lineno, name, size=many) for name, value, many in found if many is not None)

    def _test(self, unit: _Unit) -> TestCase:
        own = [*unit.found.checks]
        for name, calls in unit.found.calls.items():
            if name in self.asserting or HELPER.match(name):
                own.extend(
                    Check(line, f"{name}(…)", unit.name, dead=dead, subjects=(name,), under=under)
                    for line, dead, under in calls
                )
        body = self._body(unit.node)
        return TestCase(
            unit.name, unit.node.lineno, tuple(own), unit.collected, cases(unit.node, self.lists),
            blake2b(body.encode("utf-8", "replace"), digest_size=12).hexdigest(),
            cut_at(unit.node.body), guards_in(unit.node.body),
            loops(unit.node, {**self.lists, **unit.found.values}, self.say), idle(unit.node), patched(unit.node),
        )  # fmt: skip

    def _body(self, node: Function) -> str:
        """What makes two bodies the same: their text without layout, or their tree where lines are not trusted."""
        body = _without_docstring(node.body)
        if self.lines and body and node.end_lineno:
            return "".join("".join(self.lines[body[0].lineno - 1 : node.end_lineno]).split())
        return ast.dump(ast.Module(body, []))

    def _owner(self, line: int) -> str:
        place = bisect_right(self._owners, (line, 10**9, "")) - 1  # functions of a module stand one after the other
        return self._owners[place][2] if place >= 0 and line <= self._owners[place][1] else ""


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    return body[1:] if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else body


def _is_fixture(node: Function) -> bool:
    return any(
        last_name(item.func if isinstance(item, ast.Call) else item) == "fixture" for item in node.decorator_list
    )


def _is_inner(node: ast.stmt) -> bool:
    """Whether a definition in a piece of a file stands in a test that began before: indented, and no test itself."""
    if not getattr(node, "steelyard_indent", 0):
        return False
    if isinstance(node, ast.ClassDef):
        return not node.bases and node.name[:4].lower() != "test"
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or "test" in node.name.lower():
        return False
    return not (node.args.args and node.args.args[0].arg in {"self", "cls"})


def _defines(node: ast.stmt) -> bool:
    parts = [*getattr(node, "body", []), *getattr(node, "orelse", [])]
    return any(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for part in parts)
