"""How quickly a big diff is parsed and graded: 10 MB in 1,000 files."""

import random
import time
from collections.abc import Callable

from benchmarks.measure import table
from steelyard import plugins
from steelyard.domain.diff import Diff
from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import Task
from steelyard.worktree.patch import parse_patch

FILES = 1000
SCORERS: list[dict[str, object]] = [
    {"type": "allowed_paths", "patterns": ["src/*", "tests/*"]},
    {"type": "forbid_paths", "patterns": [".github/*", "*.lock"]},
    {"type": "max_files_changed", "limit": 5000},
    {"type": "forbid_secrets"},
    {"type": "tests_unmodified", "paths": ["tests/test_0.py"]},
    {"type": "baseline_unmodified", "paths": ["setup.cfg"]},
    {"type": "no_new_skips"},
    {"type": "assertions_not_weakened"},
]


def main(argv: list[str]) -> None:
    """Best of three for each part, in processor time."""
    del argv
    patch, after = _big_patch()
    size = len(patch) / 1e6
    parsing = _best(lambda: [(one.added, one.removed) for one in parse_patch(patch)])
    evidence = Evidence(
        task=Task(id="t", prompt="p"),
        diff=Diff(patch, parse_patch(patch)),
        after=after.get,
        baseline_files=frozenset({"tests/test_0.py", "setup.cfg"}),
    )
    rows = [("parse, with every line's text", f"{size / parsing:.0f}", "50")]
    for spec in SCORERS:
        scorer = plugins.build("scorers", {"name": "x", **spec})
        scorer.score(evidence, None)  # rules and grammars are loaded once
        spent = _best(lambda scorer=scorer: scorer.score(evidence, None))  # type: ignore[misc]  # bound now
        rows.append((f"`{spec['type']}`", f"{size / max(spent, 1e-6):,.0f}", "20"))
    print(f"A diff of {size:.1f} MB in {FILES:,} files, parsed once and shared.\n")
    print(table(["part", "MB a second of CPU", "goal, at least"], rows))


def _best(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(3):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent)


def _big_patch() -> tuple[bytes, dict[str, bytes]]:
    """New source files of ordinary-looking lines, with a few test files between them."""
    luck = random.Random(1)
    words = [f"{luck.choice('abcdefghijklmnop')}{luck.randrange(10**6)}" for _ in range(5000)]
    parts: list[str] = []
    after: dict[str, bytes] = {}
    for number in range(FILES):
        is_test = number % 20 == 0
        path = f"tests/test_{number}.py" if is_test else f"src/module_{number}.py"
        lines = [f"    {luck.choice(words)} = compute({luck.choice(words)}, {n})" for n in range(220)]
        if is_test:
            lines = [f"def test_{n}():\n    assert compute({n}) == {n}" for n in range(110)]
        text = "\n".join(lines) + "\n"
        count = text.count("\n")
        after[path] = text.encode()
        parts.append(
            f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex {'0' * 40}..{'1' * 40}\n"
            f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n"
            + "".join(f"+{line}\n" for line in text.splitlines())
        )
    return "".join(parts).encode(), after
