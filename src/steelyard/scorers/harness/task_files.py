"""Task runners whose recipes are Python: nox, invoke, doit, fabric."""

import ast
import re
from collections.abc import Iterator

from steelyard.scorers.harness.model import Context, Sign
from steelyard.scorers.harness.python_code import code_signs
from steelyard.scorers.harness.python_names import parse, unparse

_TASK = re.compile(r"\b(pytest|unittest|tox|nosetests|nox|cargo test|go test|npm test|jest|mocha|vitest)\b")
_FORGIVES = re.compile(r"\b(?:warn\s*+=\s*+True|success_codes\s*+=|ignore_failures?\s*+=\s*+True)[^\n]{0,80}")


def task_file_signs(text: str, context: Context) -> Iterator[Sign]:
    """Sessions and tasks written in Python: the commands they run are strings."""
    tree = parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 2000:
            for match in _TASK.finditer(node.value):
                message = f"no task runs {match[1]} any more"
                yield Sign("test-command", match[1], node.value, node.lineno, message, wanted=True)
        elif isinstance(node, ast.Call):
            said = unparse(node)
            for found in _FORGIVES.finditer(said) if _TASK.search(said) else ():
                message = "tests can fail unseen"
                yield Sign("forgiving-command", found[0][:40], said[:300], node.lineno, message)
    yield from code_signs(text, context)
