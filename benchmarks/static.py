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
ROUNDS = 3
PARSING = "parse, with every line's text"
TOGETHER = "`no_new_skips` and `assertions_not_weakened`, together (they share their reading)"
SCORERS: list[dict[str, object]] = [
    {"type": "allowed_paths", "patterns": ["src/*", "tests/*"]},
    {"type": "forbid_paths", "patterns": [".github/*", "*.lock"]},
    {"type": "max_files_changed", "limit": 5000},
    {"type": "forbid_secrets"},
    {"type": "tests_unmodified", "paths": ["tests/test_0.py"]},
    {"type": "baseline_unmodified", "paths": ["setup.cfg"]},
]
Patch = tuple[bytes, dict[str, bytes], dict[str, bytes]]


def main(argv: list[str]) -> None:
    """Best of three for each part, in processor time, each time on a diff that was never read before."""
    del argv
    _measured(_big_patch(0, files=20))  # rules and grammars are loaded once
    made = [_big_patch(number + 1) for number in range(ROUNDS)]
    taken = [_measured(one) for one in made]
    rows = [(part, f"{max(each[part] for each in taken):,.0f}", "50" if part == PARSING else "20") for part in taken[0]]
    size = len(made[0][0]) / 1e6
    print(f"A diff of {size:.1f} MB in {FILES:,} files, one in twenty an edited test, parsed once and shared.\n")
    print(table(["part", "MB a second of CPU", "goal, at least"], rows))


def _measured(made: Patch) -> dict[str, float]:
    """Megabytes a second of each part."""
    patch, before, after = made
    found = {PARSING: _speed(patch, lambda: [(one.added, one.removed) for one in parse_patch(patch)])}
    evidence = Evidence(
        task=Task(id="t", prompt="p"),
        diff=Diff(patch, parse_patch(patch)),
        before=before.get,
        after=after.get,
        baseline_files=frozenset({"tests/test_0.py", "setup.cfg"}),
    )
    _ = [one.added for one in evidence.diff.files]  # parsed once and shared: no scorer's own work
    for spec in SCORERS:
        scorer = plugins.build("scorers", {"name": "x", **spec})
        found[f"`{spec['type']}`"] = _speed(patch, lambda: scorer.score(evidence, None))  # noqa: B023  # called at once
    both = [plugins.build("scorers", {"name": "x", "type": one}) for one in ("no_new_skips", "assertions_not_weakened")]
    found[TOGETHER] = _speed(patch, lambda: [scorer.score(evidence, None) for scorer in both])
    return found


def _speed(patch: bytes, work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return len(patch) / 1e6 / max(time.process_time() - started, 1e-6)


def _big_patch(seed: int, files: int = FILES) -> Patch:
    """New source files of ordinary-looking lines, and between them test files whose every tenth check changed."""
    luck = random.Random(seed)
    words = [f"{luck.choice('abcdefghijklmnop')}{luck.randrange(10**6)}" for _ in range(5000)]
    parts: list[str] = []
    before: dict[str, bytes] = {}
    after: dict[str, bytes] = {}
    for number in range(files):
        if number % 20 == 0:
            path = f"tests/test_{number}.py"
            was = [f"def test_{n}():\n    assert {luck.choice(words)}({n}) == {n}\n" for n in range(150)]
            now = [one.replace(" == ", " >= ") if n % 10 == 0 else one for n, one in enumerate(was)]
            before[path], after[path] = "".join(was).encode(), "".join(now).encode()
            parts.append(_edited(path, before[path].decode(), after[path].decode()))
        else:
            path = f"src/module_{number}.py"
            text = "".join(f"    {luck.choice(words)} = compute({luck.choice(words)}, {n})\n" for n in range(280))
            after[path] = text.encode()
            parts.append(_new(path, text))
    return "".join(parts).encode(), before, after


def _new(path: str, text: str) -> str:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex {'0' * 40}..{'1' * 40}\n--- /dev/null\n"
        f"+++ b/{path}\n@@ -0,0 +1,{text.count(chr(10))} @@\n" + "".join(f"+{line}\n" for line in text.splitlines())
    )


def _edited(path: str, before: str, after: str) -> str:
    old, new = before.splitlines(), after.splitlines()
    body = "".join(f" {was}\n" if was == now else f"-{was}\n+{now}\n" for was, now in zip(old, new, strict=True))
    return (
        f"diff --git a/{path} b/{path}\nindex {'0' * 40}..{'1' * 40} 100644\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -1,{len(old)} +1,{len(new)} @@\n{body}"
    )
