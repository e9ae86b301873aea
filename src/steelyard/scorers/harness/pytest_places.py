"""Which of the baseline's tests a setting of pytest no longer finds."""

import re
from fnmatch import fnmatchcase

from steelyard.scorers.harness.commands import covers
from steelyard.scorers.harness.meter import spend
from steelyard.scorers.harness.model import Context

DEFAULTS = {"python_files": ("test_*.py", "*_test.py"), "python_classes": ("Test",), "python_functions": ("test",)}


def narrows(key: str, words: list[str], context: Context) -> str | None:
    """Why a setting leaves tests of the baseline out; None when it does not."""
    spend(len(words) * (10 + len(context.tests) // 2))
    python = [test for test in context.tests if test.endswith(".py")]
    modules = [
        test for test in python if any(fnmatchcase(test.rpartition("/")[2], glob) for glob in DEFAULTS["python_files"])
    ]
    if key == "testpaths":
        paths = [word.strip("./").rstrip("/") for word in words]
        left = [
            test for test in modules if words and not any(covers(p, test) or fnmatchcase(test, f"{p}/*") for p in paths)
        ]
        return f"testpaths leaves out {left[0]}" if left else None
    if key == "norecursedirs":
        left = [test for test in modules if any(_passed_over(test, word.rstrip("/")) for word in words)]
        return f"norecursedirs leaves out {left[0]}" if left else None
    if key == "python_files":
        left = [
            test
            for test in modules
            if not any(fnmatchcase(test, w) or fnmatchcase(test.rpartition("/")[2], w) for w in words)
        ]
        return f"python_files leaves out {left[0]}" if left else None
    missing = [word for word in DEFAULTS[key] if not any(word.startswith(own.rstrip("*")) for own in words)]
    if missing == ["test"] and any(own in ("test_", "test_*") for own in words) and not _other_names(python, context):
        return None
    return f"{key} leaves out what starts with {missing[0]}" if missing else None


def _passed_over(test: str, word: str) -> bool:
    """Whether a pattern of `norecursedirs` holds a directory above a test: by its name, or by its path with a slash."""
    parts = test.split("/")[:-1]
    if "/" not in word:
        return any(fnmatchcase(part, word) for part in parts)
    return any(fnmatchcase("/" + "/".join(parts[: at + 1]), "*/" + word.strip("./")) for at in range(len(parts)))


_CAMEL = re.compile(rb"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+test[^_\W]")


def _other_names(tests: list[str], context: Context) -> bool:
    """Whether some test of the baseline starts with `test` but not with `test_`."""
    for test in tests[:200]:
        held = context.before(context.folder + test) or b""
        spend(1 + len(held) // 2000)
        if _CAMEL.search(held):
            return True
    return False
