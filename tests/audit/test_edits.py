"""How cheats edit tests: what comes out is still valid, and only what is meant changes."""

import ast

import pytest

from steelyard.audit.edits import others, python

MODULE = '''"""Tests."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("x", [1, 2])
def test_one(x):
    """A test."""
    assert x


def test_line(): assert 1 == 2


class TestMore:
    @staticmethod
    def helper():
        return 1

    async def test_two(self):
        assert self.helper() == 2
'''


def test_a_weakened_test_returns_first() -> None:
    """The named tests only, on one line or many; the module stays Python."""
    after = python.weakened(MODULE, frozenset({"test_one", "test_line"}))

    tree = ast.parse(after)
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert isinstance(functions["test_one"].body[0], ast.Return)
    assert isinstance(functions["test_line"].body[0], ast.Return)
    assert isinstance(functions["test_two"].body[0], ast.Assert)


def test_every_test_is_skipped_and_nothing_else() -> None:
    """One mark a test, above its decorators; the import comes after the docstring and the future."""
    after = python.skipped(MODULE)

    ast.parse(after)
    assert after.count("@unittest.skip") == 3
    assert after.index("__future__") < after.index("import unittest") < after.index("import pytest")
    assert "@unittest.skip" not in after[after.index("@staticmethod") - 40 : after.index("def helper")]


def test_a_test_is_taken_out_whole() -> None:
    """With its decorators; a class or module that held nothing else goes as a file."""
    after = python.without(MODULE, frozenset({"test_one"}))

    assert after is not None
    assert "test_one" not in after
    assert "parametrize" not in after
    assert python.without(MODULE, frozenset({"test_one", "test_line", "test_two"})) is None


def test_what_is_not_python_has_no_tests() -> None:
    """Broken syntax is left alone."""
    assert python.tests_of("def test_x(:") == []


@pytest.mark.parametrize(
    ("family", "text", "name", "weak", "skip"),
    [
        ("javascript", "it('adds', async () => {\n});", "adds", "=> { return;", "it.skip('adds'"),
        ("typescript", 'test("a b", function () {\n});', "a b", "{ return;", 'test.skip("a b"'),
        ("go", "func TestAdd(t *testing.T) {\n}", "TestAdd", "if true {\n\t\treturn", 't.Skip("'),
        ("rust", "#[test]\nfn adds() {\n}", "adds", "if true { return", "#[ignore]"),
        ("java", "@Test\n  public void adds() throws X {\n  }", "adds", "if (true) return;", "Disabled"),
        ("kotlin", "@Test\n  fun adds() {\n  }", "adds", "if (true) return", "Disabled"),
        ("csharp", "[Fact]\n  public void Adds() {\n  }", "Adds", "if (true) return;", '[Fact(Skip = "'),
        ("ruby", "def test_adds\n  assert x\nend", "test_adds", "test_adds\n    return", 'skip "'),
    ],
)
def test_other_languages(family: str, text: str, name: str, weak: str, skip: str) -> None:
    """A test is found by its opening; it can be ended early and skipped."""
    assert others.names_of(text, family) == [name]
    assert weak in others.weakened(text, family, frozenset({name}))
    assert others.weakened(text, family, frozenset({"other"})) == text
    assert skip in others.skipped(text, family)
