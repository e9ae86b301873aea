"""Suites to be audited: one with holes, one without."""

import sys

from tests.e2e.conftest import Shop

CALC = '''"""A calculator."""


def add(a, b):
    """The sum."""
    return a - b


def double(a):
    """Twice."""
    return a * 2
'''
TESTS = '''"""What the calculator must do."""

from calc import add, double


def test_add():
    assert add(2, 2) == 4


def test_double():
    assert double(4) == 8
'''
HIDDEN = "from calc import add\n\n\ndef test_other_numbers():\n    assert (add(3, 4), add(-1, 1)) == (7, 0)\n"
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q"
ARMS = "arms: {idle: {agent: command, command: 'echo hi'}}\n"


def calculator(shop: Shop) -> None:
    """A seed with one test that fails, its solution, and tests that nobody sees."""
    shop.write("seed/calc.py", CALC)
    shop.write("seed/test_calc.py", TESTS)
    shop.write("solution/calc.py", CALC.replace("a - b", "a + b"))
    shop.write("hidden/test_hidden.py", HIDDEN)


def suite(*scorers: str, command: str = PYTEST, fields: str = "") -> str:
    """A suite with one task that runs the command, and more scorers, a line each."""
    lines = "".join(f"      {line}\n" for line in scorers)
    return (
        "tasks:\n"
        "  - id: calc\n"
        "    seed: {directory: seed}\n"
        "    reference: {directory: solution}\n"
        f"{fields}"
        "    prompt: Fix add().\n"
        "    limits: {timeout_s: 120}\n"
        "    scorers:\n"
        f"      - {{name: unit tests, type: command, command: '{command}', timeout_s: 120}}\n"
        f"{lines}{ARMS}"
    )


HARD = (
    "- {name: tests untouched, type: tests_unmodified, paths: [test_calc.py]}",
    "- {name: harness untouched, type: harness_unmodified}",
    f"- {{name: hidden tests, type: hidden_tests, files: hidden, command: '{PYTEST}'}}",
)
