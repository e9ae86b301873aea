"""Which files hold the baseline's tests by its own report: a project may keep them where nobody would look."""

import ast
import re

from steelyard.domain.evidence import Evidence
from steelyard.scorers.runners import Ran

# Tests beside the code: laying the baseline's file back would take the agent's work away.
_BESIDE = re.compile(rb"(?m)import\.meta\.vitest|cfg\(test\)|\bmodule\.exports\b|\bexports\.\w+\s*=|^export\s")
MAX_BYTES = 2_000_000


def reported_files(ran: Ran, evidence: Evidence, tree: str) -> set[str]:
    """The changed files of the baseline that hold nothing but tests which its report names.

    vitest and cargo name a file in a test's id, pytest a module, others in an attribute.
    """
    tests: dict[str, set[str]] = {}
    for name in ran.cases:
        place, _, test = name.partition("::")
        tests.setdefault(place, set()).add(test.partition("[")[0])
    named = {file.removeprefix(f"{tree}/").removeprefix("./") for files in ran.places.values() for file in files}
    changed = {change.old_path or change.path for change in evidence.diff.files if change.kind != "added"}
    found: set[str] = set()
    for path in changed & evidence.baseline_files:
        if path.endswith(".py"):
            own = _of_module(path.removesuffix(".py").replace("/", "."), tests)
            holds = bool(own) and _only_tests((evidence.before(path) or b"")[:MAX_BYTES], own)
        else:
            here = path in tests or path in named
            holds = here and _BESIDE.search((evidence.before(path) or b"")[:MAX_BYTES]) is None
        found |= {path} if holds else set()
    return found


def _of_module(module: str, tests: dict[str, set[str]]) -> set[str]:
    """The names of a module's tests and of the classes around them."""
    own: set[str] = set()
    for place, names in tests.items():
        if f"{place}.".startswith(f"{module}."):
            own |= names | {*place[len(module) + 1 :].split(".")}
    return own


def _only_tests(text: bytes, own: set[str]) -> bool:
    """Whether a module has no function or class that is neither a test, nor private, nor decorated as a fixture is.

    What checkers report under the name of a module (documentation tests, linters) is no function of it.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    named = {one.name: bool(one.decorator_list) or one.name.startswith("_") for one in body if isinstance(one, kinds)}
    return not own.isdisjoint(named) and all(aside or name in own for name, aside in named.items())
