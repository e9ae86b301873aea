"""What names mean in a Python module: imports and aliases resolved to dotted names, and what runs at import."""

import ast
import gc
import warnings
from collections.abc import Iterator

from steelyard.scorers.harness.meter import spend
from steelyard.scorers.integrity.python_nodes import children, walk

_BARE = (ast.Name, ast.Constant, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
_LETTERS = bytes(range(48, 58)) + bytes(range(65, 91)) + bytes(range(97, 123)) + bytes(range(128, 256)) + b"_ \t"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def parse(text: str) -> ast.Module:
    """The module, without a word about its style."""
    raw = text.encode("utf-8", "replace")
    spend(len(raw.translate(None, _LETTERS)) + len(raw.split()))
    was_on = gc.isenabled()
    gc.disable()  # a tree holds no cycles, and collecting while it grows doubles the time
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    finally:
        if was_on:
            gc.enable()


def unparse(node: ast.AST) -> str:
    """The source of a node."""
    found = [node]
    for one in found:
        below = children(one)
        spend(1 + len(below))
        found += below
    return ast.unparse(node)


class Names:
    """The imports of a module, wherever they stand in it; `nodes` are all that may say something by themselves."""

    def __init__(self, tree: ast.Module) -> None:
        self.known: dict[str, str] = {}
        self._called_names: set[str] | None = None
        self.nodes = tuple(node for node in walk(tree) if _speaks(node))
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    first = alias.name.partition(".")[0]
                    self.known[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self.known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        self.roots = frozenset(meant.partition(".")[0] for meant in self.known.values())
        for node in tree.body:
            # `leave = os._exit` is an alias too.
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                meant = self.dotted(node.value)
                if meant and meant.partition(".")[0] in (
                    "os",
                    "sys",
                    "builtins",
                    "unittest",
                    "pytest",
                    "_pytest",
                    "time",
                ):
                    self.known.setdefault(node.targets[0].id, meant)

    def imports(self, module: str) -> bool:
        """Whether this file imports a module, or something from it: a name alone may be any variable."""
        return module in self.roots

    def calls(self, wanted: frozenset[str]) -> bool:
        """Whether any of these functions is called anywhere."""
        if self._called_names is None:
            self._called_names = {self.dotted(node.func) for node in self.nodes if isinstance(node, ast.Call)}
        return not wanted.isdisjoint(self._called_names)

    def dotted(self, node: ast.AST) -> str:
        """`os._exit` for whatever name it goes by here; nothing for what is no plain name."""
        parts: list[str] = []
        while True:
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
                node = node.value
            elif isinstance(node, ast.Call):
                inner = self._called(node)
                if inner is None:
                    return ""
                return ".".join([inner, *reversed(parts)])
            elif isinstance(node, ast.Name):
                parts.append(self.known.get(node.id, node.id))
                return ".".join(reversed(parts))
            else:
                return ""

    def _called(self, node: ast.Call) -> str | None:
        """`getattr(os, "_exit")` and `__import__("os")` are names as well."""
        if not isinstance(node.func, ast.Name) or not node.args:
            return None
        text = [said for said in map(literal, node.args) if said is not None]
        if node.func.id == "getattr" and len(node.args) >= 2 and len(text) >= 1:
            owner = self.dotted(node.args[0])
            return f"{owner}.{text[0]}" if owner else None
        if node.func.id in ("__import__", "import_module") and text:
            return text[0]
        return None


def _speaks(node: ast.AST) -> bool:
    """Names, numbers and signs mean something only in what holds them."""
    return not isinstance(node, _BARE) or (isinstance(node, ast.Constant) and type(node.value) is str)


def literal(node: ast.expr) -> str | None:
    """The text of a literal, also of one that is put together from pieces."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = literal(node.left), literal(node.right)
        return None if left is None or right is None else left + right
    return None


def at_import(tree: ast.Module) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Every node that is run when the module is imported, with the statements around it.

    Functions that a module-level statement calls by name are followed, each once.
    """
    functions = {node.name: node for node in walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    stack: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(node, ()) for node in reversed(tree.body)]
    followed: set[str] = set()
    while stack:
        node, around = stack.pop()
        yield node, around
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if called in functions and called not in followed:
            followed.add(called)
            stack += [(inner, (*around, node)) for inner in functions[called].body]
        if isinstance(node, _FUNCTIONS):
            if not isinstance(node, ast.Lambda):
                stack += [(inner, around) for inner in node.decorator_list]
            continue
        if isinstance(node, ast.If) and is_main_guard(node.test):
            stack += [(inner, (*around, node)) for inner in node.orelse]
            continue
        chain = (*around, node) if isinstance(node, ast.stmt | ast.ExceptHandler) and len(around) < 200 else around
        stack += [(inner, chain) for inner in reversed(children(node)) if not isinstance(inner, _BARE)]


def is_main_guard(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, either way round, or together with something else; `or` makes it no guard."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(is_main_guard, test.values))
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    names = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return names and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)
