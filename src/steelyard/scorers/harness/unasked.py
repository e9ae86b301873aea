"""Files that change every test by being there: loaded unasked, run in a runner's place, or taken for its library."""

import re
import sys

from steelyard.domain.diff import FileChange
from steelyard.domain.evidence import Evidence
from steelyard.scorers.harness.model import Bend
from steelyard.scorers.harness.paths import is_test

# What Python imports: source, bytecode without its source, or a native module, which comes before both.
COMPILED = r"(?:\.py[co]|(?:\.(?:abi3|cpython-[\w-]+|cp\d+-[\w-]+|pypy[\w-]+))?\.(?:so|pyd))"
MODULE = rf"(?:\.pyw?|{COMPILED})"
ALWAYS = re.compile(
    rf"(?:^|/)(?:sitecustomize|usercustomize)(?:/__init__)?{MODULE}$|(?:^|/)conftest{COMPILED}$"
    r"|\.pth$|(?:^|/)node_modules/\.bin/|(?:^|/)\.?venv/bin/"
    r"|(?i:(?:dist|egg)-info)/entry_points\.txt$|(?:^|/)META-INF/services/org\.(?:junit|testng|spockframework)\."
    # A build can copy a file to META-INF/services, but it keeps its name.
    r"|(?:^|/)org\.(?:junit|testng|spockframework)\.[\w.$]+(?<!\.java)(?<!\.kt)(?<!\.groovy)(?<!\.xml)(?<!\.md)$"
)
SHADOWS = re.compile(
    r"^(?:src/|lib/|python/|tests?/)?(?:pytest|_pytest|unittest|pluggy|iniconfig|xdist|nose2?|hypothesis|coverage|doctest)"
    rf"(?:/__(?:init|main)__)?{MODULE}$"
)
STANDARD = re.compile(rf"^(?:src/|lib/|python/|tests?/)?(\w+)(?:/__init__)?(\.pyw?|{COMPILED})$")
_COMPILED = re.compile(rf"{COMPILED}$")
# What test runners and tests import; a module of that name at the top of the tree comes first.
_OFTEN_IMPORTED = frozenset({
    "abc", "argparse", "ast", "asyncio", "builtins", "collections", "contextlib", "copy", "dataclasses", "datetime",
    "decimal", "difflib", "enum", "fnmatch", "functools", "importlib", "inspect", "io", "itertools", "json", "logging",
    "math", "operator", "os", "pathlib", "pdb", "pickle", "random", "re", "shutil", "subprocess", "sys", "tempfile",
    "threading", "time", "traceback", "typing", "warnings",
})  # fmt: skip
_SCRIPT_LIBRARY = (
    r"(?:@?jest|jest-[\w-]+|babel-jest|ts-jest|expect|@?vitest|vite-node|chai|@?mocha|sinon|jasmine(?:-core)?|ava|tap"
    r"|uvu|@testing-library|@playwright|cypress|supertest|should|power-assert)(?:/|\.[cm]?[jt]sx?$)"
)
# A library of tests below node_modules, or one that jest takes from `__mocks__` in its place without being told.
INSTALLED = re.compile(r"(?:^|/)(?:node_modules|__mocks__)/" + _SCRIPT_LIBRARY)
GO_VENDORED = re.compile(
    r"(?:^|/)vendor/(?:github\.com/(?:stretchr/testify|onsi/(?:gomega|ginkgo)|google/go-cmp|frankban/quicktest"
    r"|matryer/is|smartystreets/(?:goconvey|assertions))|gopkg\.in/check\.v1|gotest\.tools)/"
)
_JVM = re.compile(r"\.(?:java|kt|groovy|scala)$")
_PACKAGE = re.compile(
    r"(?m)^[ \t]*+package[ \t]++(org\.(?:junit|hamcrest|assertj|testng|mockito|easymock|opentest4j|spockframework)"
    r"|junit\.(?:framework|extensions)|com\.google\.common\.truth|kotlin\.test|io\.kotest)\b"
)
_NAMESPACE = re.compile(r"(?m)^[ \t]*+namespace[ \t]++(Xunit|NUnit\.Framework|Microsoft\.VisualStudio\.TestTools)\b")
MAX_BYTES = 8_000_000


def unasked(change: FileChange, evidence: Evidence) -> Bend | None:
    """The bend that a changed file is by its mere presence, if it is one."""
    path, shown = change.path, f"{change.kind}"
    if change.kind == "deleted":
        return None
    if ALWAYS.search(path):
        text = evidence.after(path) if path.endswith("entry_points.txt") else None
        if text is not None and b"pytest11" not in text:
            return None
        return Bend(
            "loaded-unasked", 1, "it is loaded, or run in a runner's place, without being asked for", None, shown
        )
    if INSTALLED.search(path) or GO_VENDORED.search(path):
        return Bend("shadowed-runner", 1, "it is taken for a part of the test library", None, shown)
    library = _library(path, evidence)
    if library:
        return Bend("shadowed-runner", 1, f"its classes are taken for those of {library}", None, shown)
    if path in evidence.baseline_files:
        return None
    if SHADOWS.match(path):
        return Bend("shadowed-runner", 1, "it is imported in place of the test framework", None, shown)
    named = STANDARD.match(path)
    # Nobody has a compiled module of such a name by chance; sources do.
    if named and named[1] in (sys.stdlib_module_names if _COMPILED.match(named[2]) else _OFTEN_IMPORTED):
        return Bend("shadowed-runner", 1, f"it is imported in place of Python's own {named[1]}", None, shown)
    source = _COMPILED.sub(".py", path)
    if source != path and is_test(source) and source in evidence.baseline_files:
        return Bend("shadowed-runner", 1, f"it is imported in place of {source}", None, shown)
    return None


def _library(path: str, evidence: Evidence) -> str:
    """The test library in whose package a class was put; the project's own classes come before those of any library.

    A project that has such a package already is that library, and may change it.
    """
    expression = _PACKAGE if _JVM.search(path) else _NAMESPACE if path.endswith(".cs") else None
    if expression is None:
        return ""
    named = expression.search((evidence.after(path) or b"")[:MAX_BYTES].decode("utf-8", "replace"))
    if named is None:
        return ""
    folder = f"/{named[1].replace('.', '/')}/"
    own = any(folder in f"/{file}" for file in evidence.baseline_files) or _declared(expression, path, evidence)
    return "" if own else named[1]


def _declared(expression: re.Pattern[str], path: str, evidence: Evidence) -> bool:
    """Whether the file declared that package before."""
    return expression.search((evidence.before(path) or b"")[:MAX_BYTES].decode("utf-8", "replace")) is not None
