"""Which files hold tests, and in which language family they are."""

import re
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from pathlib import PurePosixPath

FAMILIES: dict[str, str] = {
    ".py": "python", ".pyi": "python", ".ipynb": "python",
    ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript", ".cjs": "javascript",
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
    ".vue": "javascript", ".svelte": "javascript",
    ".go": "go", ".java": "java", ".kt": "kotlin", ".kts": "kotlin", ".groovy": "java", ".scala": "java",
    ".rb": "ruby", ".rs": "rust", ".cs": "csharp", ".fs": "csharp",
}  # fmt: skip

DEFAULT_GLOBS: tuple[str, ...] = (
    "test/*", "tests/*", "*/test/*", "*/tests/*", "src/test*/*", "*/src/test*/*",
    "*/testing/*", "spec/*", "*/spec/*", "specs/*", "*/specs/*",
    "__tests__/*", "*/__tests__/*", "e2e/*", "*/e2e/*", "__e2e__/*", "*/__e2e__/*", "*/androidTest/*",
    "test_*.py", "*/test_*.py", "*_test.py", "*_tests.py", "tests.py", "*/tests.py", "test.py", "*/test.py",
    "conftest.py", "*/conftest.py", "*test*.ipynb",
    "*.test.*", "*.spec.*", "*.cy.*", "*test.ts", "*test.tsx", "*test.js", "*.e2e.*", "*-spec.*", "*-test.*",
    "spec.js", "*/spec.js", "*_spec.js", "*_spec.ts", "*Spec.js", "*Spec.ts",
    "*_test.go",
    "*Test.java", "*Tests.java", "*TestCase.java", "*IT.java", "Test*.java", "*/Test*.java",
    "*Test.kt", "*Tests.kt", "*Spec.kt", "*IT.kt", "*Spec.groovy", "*Test.groovy", "*Spec.scala", "*Test.scala",
    "*_spec.rb", "*_test.rb", "test_*.rb", "*/test_*.rb",
    "*_test.rs", "*_tests.rs", "test.rs", "*/test.rs", "tests.rs", "*/tests.rs",
    "*Test.cs", "*Tests.cs", "*Spec.cs", "*Specs.cs", "*Fixture.cs", "*.Test/*", "*.Tests/*", "*Tests/*", "*Test/*",
)  # fmt: skip

# Tests that come with somebody else's code pad a count without testing the project.
SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
"""Languages that are read alike."""
VENDORED = frozenset(
    {"node_modules", "vendor", "vendored", "third_party", "site-packages", ".venv", "bower_components"}
)


_DEFAULT = re.compile("|".join(map(translate, DEFAULT_GLOBS)))


def family_of(path: str) -> str | None:
    """The language family of a path by its suffix; None for a file that is no source code."""
    return FAMILIES.get(PurePosixPath(path).suffix.lower())


@lru_cache(maxsize=8192)
def is_test_path(path: str, globs: tuple[str, ...]) -> bool:
    """Whether a path holds tests: by the suite's own globs if given, else by the customs of each language."""
    if globs:
        return any(fnmatchcase(path, glob) for glob in globs)
    if family_of(path) is None or not VENDORED.isdisjoint(PurePosixPath(path).parts):
        return False
    return _DEFAULT.match(path) is not None


def may_hold_inline_tests(path: str) -> bool:
    """Whether tests of this language commonly stand beside the code (Rust's `#[cfg(test)]`)."""
    return path.endswith(".rs") and VENDORED.isdisjoint(PurePosixPath(path).parts)
