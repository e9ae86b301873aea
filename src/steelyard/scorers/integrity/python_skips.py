"""Markers that keep a Python test from running, under whatever name they were imported."""

import ast
from collections.abc import Iterator

from steelyard.scorers.integrity.model import Mark
from steelyard.scorers.integrity.python_nodes import constant, last_name
from steelyard.scorers.integrity.python_values import Say

FRAMEWORKS = frozenset({"pytest", "unittest", "unittest2", "testtools", "nose"})
MARKS = frozenset({"skip", "skipif", "xfail"})
CALLS = frozenset({"skip", "xfail", "importorskip"})
UNITTEST = frozenset({"skip", "skipIf", "skipUnless", "expectedFailure"})
NAMES = MARKS | CALLS | UNITTEST | {"skipTest", "SkipTest"}


class Names:
    """What the names of a module stand for, as far as skipping goes."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        self.frameworks = set(FRAMEWORKS)
        self.marks = {"mark"}
        self.skips = {"skip", "skipif", "skipIf", "skipUnless", "xfail", "importorskip", "expectedFailure"}
        self.switched_off: set[str] = set()
        self.tests = {
            node.name
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
        }
        for node in nodes:
            if isinstance(node, ast.Import):
                for name in node.names:
                    if name.name.split(".")[0] in FRAMEWORKS:
                        self.frameworks.add(name.asname or name.name.split(".")[0])
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in FRAMEWORKS:
                for name in node.names:
                    if name.name == "mark":
                        self.marks.add(name.asname or "mark")
                    elif name.name in NAMES:
                        self.skips.add(name.asname or name.name)
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._assigned(node.targets[0].id, node.value)

    def _assigned(self, name: str, value: ast.expr) -> None:
        """`off = pytest.mark.skip(…)`: each use of such a name switches a test off; conditional ones are left alone."""
        function = value.func if isinstance(value, ast.Call) else value
        if self.marker(function) in {"skip", "xfail"} and name not in {"pytestmark", "skip"}:
            conditional = isinstance(value, ast.Call) and (
                len(value.args) > 1 or "condition" in map(_arg, value.keywords)
            )
            if not conditional:
                self.switched_off.add(name)

    def is_framework(self, node: ast.expr) -> bool:
        """Whether an expression is pytest or unittest itself."""
        if isinstance(node, ast.Name):
            return node.id in self.frameworks
        if isinstance(node, ast.Attribute) and node.attr in {"case", "outcomes"}:
            return self.is_framework(node.value)
        return isinstance(node, ast.Call) and last_name(node.func) in {"__import__", "import_module"} and _imports(node)

    def is_mark(self, node: ast.expr) -> bool:
        """Whether an expression is `pytest.mark`."""
        if isinstance(node, ast.Name):
            return node.id in self.marks
        if isinstance(node, ast.Attribute):
            return node.attr == "mark"
        return isinstance(node, ast.Call) and self._fetched(node) == "mark"

    def marker(self, node: ast.expr) -> str:
        """The skip marker that an expression refers to; empty for anything else."""
        if isinstance(node, ast.Name):
            return node.id if node.id in self.skips else ""
        if isinstance(node, ast.Attribute):
            if node.attr in MARKS and self.is_mark(node.value):
                return node.attr
            if node.attr in CALLS | UNITTEST | {"SkipTest"} and self.is_framework(node.value):
                return node.attr
            return ""
        if isinstance(node, ast.Call):
            name = self._fetched(node)
            return name if name in NAMES else ""
        return ""

    def _fetched(self, call: ast.Call) -> str:
        """The attribute that `getattr(pytest, "…")` or `mark.__getattr__("…")` fetches."""
        name = last_name(call.func)
        if name == "getattr" and len(call.args) >= 2:
            owner, key = call.args[0], call.args[1]
        elif name in {"__getattr__", "__getattribute__"} and call.args and isinstance(call.func, ast.Attribute):
            owner, key = call.func.value, call.args[0]
        else:
            return ""
        if not (self.is_framework(owner) or self.is_mark(owner)):
            return ""
        known, value = constant(key)
        return str(value) if known else "skip"


def _arg(keyword: ast.keyword) -> str | None:
    return keyword.arg


def _imports(call: ast.Call) -> bool:
    known, value = constant(call.args[0]) if call.args else (False, None)
    return known and str(value).split(".")[0] in FRAMEWORKS


_MARKING = frozenset(
    {ast.Attribute, ast.Call, ast.Raise, ast.Assign, ast.Delete, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef}
)


def marks_in(nodes: list[ast.AST], names: Names, say: Say) -> Iterator[Mark]:
    """Every marker among the nodes of a module, each once."""
    for node in nodes:
        found = _mark(node, names, say) if type(node) in _MARKING else ""
        if found:
            yield Mark(getattr(node, "lineno", 1), found)


def _mark(node: ast.AST, names: Names, say: Say) -> str:
    if isinstance(node, ast.Attribute):
        return say(node) if _is_reference(node, names) else ""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in names.skips:
            return say(node)
        if names.marker(node):
            return say(node)
        return say(node) if last_name(node.func) == "skipTest" and isinstance(node.func, ast.Attribute) else ""
    if isinstance(node, ast.Raise) and node.exc is not None:
        if isinstance(node.exc, ast.Call) and names.marker(node.exc.func):
            return ""  # the call is counted already
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return say(node) if last_name(raised) == "SkipTest" and isinstance(raised, ast.Name) else ""
    if isinstance(node, ast.Assign):
        targets = {last_name(target) for target in node.targets}
        if "__test__" in targets and constant(node.value) == (True, False):
            return say(node)
        undone = targets & names.tests if constant(node.value) == (True, None) else set()
        return say(node) if undone or targets & {"collect_ignore", "collect_ignore_glob"} else ""
    if isinstance(node, ast.Delete):
        return say(node) if any(last_name(target) in names.tests for target in node.targets) else ""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        worn = [item.id for item in node.decorator_list if isinstance(item, ast.Name)]
        bare = [name for name in worn if name in names.switched_off or name in names.skips]
        return f"@{bare[0]}" if bare else ""
    return ""


def _is_reference(node: ast.Attribute, names: Names) -> bool:
    if node.attr in MARKS and names.is_mark(node.value):
        return True
    return node.attr in CALLS | UNITTEST | {"SkipTest"} and names.is_framework(node.value)
