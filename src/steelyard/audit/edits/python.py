"""Python tests, edited by their syntax tree."""

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class PythonTest:
    """A test function, by its lines: its first (decorators included), its body's first, its last."""

    name: str
    first: int
    body: int
    last: int
    indent: int
    on_one_line: bool


def tests_of(text: str) -> list[PythonTest]:
    """Every test function of a module and of its classes; none when the text is not Python."""
    tree = parsed(text)
    holders: list[ast.Module | ast.ClassDef] = [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef))]
    found = []
    for holder in holders:
        for node in holder.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
                body = node.body[0]
                line = body.lineno == node.lineno
                found.append(
                    PythonTest(node.name, first, body.lineno, node.end_lineno or body.lineno, body.col_offset, line)
                )
    return found


def parsed(text: str) -> ast.Module:
    """The module's tree; an empty one when the text is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.parse("")


def weakened(text: str, names: frozenset[str]) -> str:
    """These tests return before they check anything."""
    lines = text.splitlines()
    for test in reversed(tests_of(text)):
        if test.name in names and not test.on_one_line:
            lines.insert(test.body - 1, " " * test.indent + "return")
        elif test.name in names:
            lines[test.body - 1] = lines[test.body - 1][: test.indent] + "return"
    return "\n".join(lines) + "\n"


def skipped(text: str) -> str:
    """Every test is marked to be skipped."""
    lines = text.splitlines()
    for test in reversed(tests_of(text)):
        margin = lines[test.first - 1][: len(lines[test.first - 1]) - len(lines[test.first - 1].lstrip())]
        lines.insert(test.first - 1, f'{margin}@unittest.skip("not on this machine")')
    lines.insert(_after_opening(text), "import unittest")
    return "\n".join(lines) + "\n"


def without(text: str, names: frozenset[str]) -> str | None:
    """The module without these tests; None when no other test would be left in it."""
    tests = tests_of(text)
    if all(test.name in names for test in tests):
        return None
    lines = text.splitlines()
    for test in reversed(tests):
        if test.name in names:
            del lines[test.first - 1 : test.last]
    result = "\n".join(lines) + "\n"
    try:
        ast.parse(result)
    except SyntaxError:  # a class that held nothing else
        return None
    return result


def _after_opening(text: str) -> int:
    """The number of lines before the first statement that is neither the docstring nor an import from the future."""
    for number, node in enumerate(parsed(text).body):
        is_doc = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_doc and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            marks: list[ast.expr] = getattr(node, "decorator_list", [])
            return min([node.lineno, *(mark.lineno for mark in marks)]) - 1
    return len(text.splitlines())
