"""Evidence for the test detectors, made from plain texts."""

from steelyard.domain.diff import Diff, FileChange
from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import Task
from steelyard.scorers.assertions_not_weakened import AssertionsNotWeakened
from steelyard.scorers.no_new_skips import NoNewSkips

SKIPS = NoNewSkips(name="skips")
ASSERTIONS = AssertionsNotWeakened(name="assertions")
Side = dict[str, str | bytes]


def evidence(before: Side, after: Side) -> Evidence:
    """Evidence of a change from one set of files to another, lines numbered as git does for a rewritten file."""
    old = {path: text.encode() if isinstance(text, str) else text for path, text in before.items()}
    new = {path: text.encode() if isinstance(text, str) else text for path, text in after.items()}
    files = []
    for path in sorted({*old, *new}):
        if old.get(path) == new.get(path):
            continue
        kind = "added" if path not in old else "deleted" if path not in new else "modified"
        files.append(
            FileChange(path, kind, removed=_numbered(old.get(path, b"")), added=_numbered(new.get(path, b"")))  # type: ignore[arg-type]
        )
    task = Task.model_construct(id="task", prompt="change it")
    return Evidence(task=task, diff=Diff(files=tuple(files)), before=old.get, after=new.get)


def _numbered(raw: bytes) -> tuple[tuple[int, str], ...]:
    return tuple(enumerate(raw.decode("utf-8", "replace").split("\n"), 1)) if raw else ()
