"""Parses Python that does not parse: statement by statement, nested by indentation, dropping what is no statement.

A file that was broken on purpose, one in a newer Python than ours, or a piece of a file still shows its tests.
"""

import ast
import re

from steelyard.scorers.integrity.mend import mended

_OPEN, _CLOSE = "([{", ")]}"
_TOKEN = re.compile(
    r'[rbfuRBFU]{0,2}("""|\'\'\')|"(?:\\.|[^"\\\n])*+"?|\'(?:\\.|[^\'\\\n])*+\'?|#[^\n]*|[()\[\]{}]', re.DOTALL
)
_FRESH = re.compile(r"[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[^=]*:[ \t]*(?:#.*)?$|@\w)")
_HEAD = re.compile(r"(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(")
_CHECK = re.compile(r"(?:assert\b[^\n]*[(\[{][ \t]*$|((?:\w+\.)+assert\w*)[ \t]*\()", re.MULTILINE)
_CLAUSE = re.compile(r"(else|elif|except|finally|case)\b")
MAX_LOGICAL = 400
MAX_UNCLOSED = 60
MAX_DEPTH = 60


def parse(text: str) -> ast.Module:
    """A module of all statements that can be made out; never raises."""
    text = mended("python", text)
    module = _parse(text)
    for quote in ('"""', "'''"):
        first = text[: text.find(quote)].rpartition("\n")[2] if quote in text else ""
        if text.count(quote) % 2 or (quote in text and not first.strip()):
            # A piece of a file may begin inside a long string: read it so if that makes out more.
            other = _parse(quote + text)
            if _statements(other) > _statements(module):
                module = other
    return module


def _statements(module: ast.Module) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(module))


def _parse(text: str) -> ast.Module:
    module = ast.Module(body=[], type_ignores=[])
    stack: list[tuple[int, list[ast.stmt]]] = [(-1, module.body)]
    outermost = None
    for number, indent, source in logical_lines(text):
        while len(stack) > 1 and indent <= stack[-1][0]:
            stack.pop()
        block = stack[-1][1]
        if len(stack) == 1:
            if outermost is not None and indent < outermost:
                block[:] = [_may_run(block.copy())]
            outermost = indent
        parsed = _statement(source, block)
        if parsed is None:
            continue
        nodes, inner = parsed
        for node in nodes:
            _shift(node, number - 1)
            node.steelyard_indent = indent  # type: ignore[attr-defined]
        block.extend(nodes)
        if inner is not None and len(stack) < MAX_DEPTH:
            inner.clear()
            stack.append((indent, inner))
    return module


def _shift(node: ast.AST, by: int) -> None:
    if by:
        ast.increment_lineno(node, by)


def _statement(source: str, block: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt] | None] | None:
    """The nodes of one logical line, and the list its indented block goes to when it opens one."""
    clause = _CLAUSE.match(source)
    if clause is not None and source.rstrip().endswith(":"):
        return _clause(clause.group(1), source, block)
    if source.startswith("@"):
        worn = re.match(r"@[ \t]*[\w.]+", source)
        nodes = _try(source + "\ndef _(): pass") or (worn and _try(worn.group() + "\ndef _(): pass"))
        # A decorator alone is kept as an expression; the definition after it is joined in `definitions`.
        if nodes and isinstance(nodes[0], ast.FunctionDef):
            return [ast.copy_location(ast.Expr(nodes[0].decorator_list[0]), nodes[0].decorator_list[0])], None
        return None
    if re.match(r"try[ \t]*:", source):
        attempt = ast.Try(body=[], handlers=[], orelse=[], finalbody=[], lineno=1, col_offset=0)
        attempt.body = _try(source[source.index(":") + 1 :].strip()) or []
        return [attempt], attempt.body
    nodes = _try(source)
    if nodes:
        return _decorated(nodes, block), None
    nodes = _try(source + " pass") if ":" in source else None
    head = _HEAD.match(source)
    if not nodes and head is not None:
        nodes = _try(f"{head.group()}): pass")  # the piece ends within the parameters: the name is known
    check = _CHECK.match(source)
    if not nodes and check is not None:
        # The middle of it was cut out: that it is a check is known.
        nodes = _try(f"{check[1]}()" if check[1] else f"assert unknown({len(source)})")
    if not nodes:
        return None
    body = getattr(nodes[-1], "body", None)
    return _decorated(nodes, block), body if isinstance(body, list) else None


def _decorated(nodes: list[ast.stmt], block: list[ast.stmt]) -> list[ast.stmt]:
    """Gives a definition the decorators that stand right before it."""
    first = nodes[0]
    if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        taken: list[ast.expr] = []
        while block and isinstance(block[-1], ast.Expr) and getattr(block[-1].value, "steelyard_decorator", False):
            taken.append(block.pop().value)  # type: ignore[attr-defined]
        first.decorator_list = taken[::-1]
    return nodes


def _clause(word: str, source: str, block: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt] | None] | None:
    """Joins an `else`, `elif`, `except` or `finally` to the statement before it; alone it is a block that may run."""
    last = block[-1] if block else None
    if word == "except":
        nodes = _try(f"try: pass\n{source} pass")
        if not nodes or not isinstance(nodes[0], ast.Try):
            return None
        handler = nodes[0].handlers[0]
        ast.increment_lineno(handler, -1)
        if isinstance(last, ast.Try):
            last.handlers.append(handler)
            return [], handler.body
        return [nodes[0]], handler.body
    if word == "finally" and isinstance(last, ast.Try):
        last.finalbody = [ast.Pass(lineno=1, col_offset=0)]
        return [], last.finalbody
    if word in {"else", "elif"} and isinstance(last, ast.If | ast.For | ast.While | ast.Try | ast.AsyncFor):
        target = last
        while isinstance(target, ast.If) and len(target.orelse) == 1 and isinstance(target.orelse[0], ast.If):
            target = target.orelse[0]
        if word == "else":
            target.orelse = [ast.Pass(lineno=1, col_offset=0)]
            return [], target.orelse
        nodes = _try(source[2:] + " pass")
        if nodes and isinstance(nodes[0], ast.If):
            target.orelse = [nodes[0]]
            return [], nodes[0].body
        return None
    alone = _may_run([])
    return [alone], alone.body


def _may_run(body: list[ast.stmt]) -> ast.If:
    """A block of which nobody knows whether it runs."""
    unknown = ast.Name("unknown", ast.Load(), lineno=1, col_offset=0)
    return ast.If(test=unknown, body=body, orelse=[], lineno=1, col_offset=0)


def _try(source: str) -> list[ast.stmt] | None:
    if len(source) > 200_000 or _nests_deep(source):
        return None
    try:
        nodes = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if nodes and "\ndef _(): pass" in source and isinstance(nodes[0], ast.FunctionDef):
        for decorator in nodes[0].decorator_list:
            decorator.steelyard_decorator = True  # type: ignore[attr-defined]
    return nodes


def _nests_deep(source: str) -> bool:
    return nests_deeper(source, 80)


def nests_deeper(text: str, limit: int) -> bool:
    """Whether brackets nest deeper, read plainly (strings included): a bound on what a parser would recurse."""
    if max(text.count("("), text.count("["), text.count("{")) <= limit:
        return False
    depth = 0
    for match in re.finditer(r"[()\[\]{}]", text):
        depth = depth + 1 if match.group() in _OPEN else max(depth - 1, 0)
        if depth > limit:
            return True
    return False


def logical_lines(text: str) -> list[tuple[int, int, str]]:
    """(line number, indentation, source) of every logical line: brackets and long strings joined, comments left out."""
    physical = text.split("\n")
    found: list[tuple[int, int, str]] = []
    index = unclosed = 0
    while index < len(physical):
        line = physical[index]
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            index += 1
            continue
        # What never closes is looked through once and again: only so often, then every line stands alone.
        end = _last_line(physical, index, MAX_LOGICAL if unclosed < MAX_UNCLOSED else 1)
        if end < 0:
            unclosed, end = unclosed + 1, index
        expanded = line.expandtabs(8)
        indent = len(expanded) - len(expanded.lstrip())
        found.append((index + 1, indent, "\n".join([line.lstrip(), *physical[index + 1 : end + 1]]).rstrip()))
        index = end + 1
    return found


def _last_line(physical: list[str], first: int, limit: int) -> int:
    """The line on which the logical line that starts at `first` ends; -1 if it never does."""
    depth, quote = 0, ""
    for index in range(first, min(first + limit, len(physical))):
        line = physical[index]
        if index > first and depth and not quote and _FRESH.match(line):
            return -1
        depth, quote = _scan(line, depth, quote)
        if depth <= 0 and not quote and not line.endswith("\\"):
            return index
    return -1


def _scan(line: str, depth: int, quote: str) -> tuple[int, str]:
    at = 0
    while at <= len(line):
        if quote:
            closed = line.find(quote, at)
            if closed < 0:
                return depth, quote
            at, quote = closed + 3, ""
        match = _TOKEN.search(line, at)
        if match is None:
            break
        at = max(match.end(), at + 1)
        if match.group(1):
            quote = match.group(1)
        elif match.group() in _OPEN:
            depth += 1
        elif match.group() in _CLOSE:
            depth -= 1
    return depth, quote
