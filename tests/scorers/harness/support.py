"""Evidence of a change that is written as two sets of files."""

from collections.abc import Mapping

from steelyard.domain.diff import Diff, FileChange
from steelyard.domain.evidence import Evidence
from steelyard.domain.suite import Task

BASE = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "src/shop/cart.py": "import time\n\n\ndef total(items):\n    return sum(items)\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "tests/unit/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
    "web/src/app.test.js": "test('x', () => { expect(1).toBe(1) })\n",
}


class Link(str):
    """The target of a symbolic link."""

    __slots__ = ()


def evidence_of(before: Mapping[str, str | bytes], after: Mapping[str, str | bytes | None]) -> Evidence:
    """The baseline holds BASE and `before`; `after` names what changed, None for a deleted file.

    A file with a NUL is binary as git sees it, and a link has no content of its own.
    """
    old = {path: _bytes(text) for path, text in {**BASE, **before}.items()}
    new = old | {path: _bytes(text) for path, text in after.items() if text is not None}
    changes = []
    for path, text in after.items():
        kind = "deleted" if text is None else "modified" if path in old else "added"
        if text is None:
            del new[path]
        elif old.get(path) == new[path]:
            continue
        known = set(old.get(path, b"").split(b"\n"))
        lines = new.get(path, b"").split(b"\n")
        added = tuple((n, line.decode("utf-8", "replace")) for n, line in enumerate(lines, 1) if line not in known)
        binary = b"\0" in new.get(path, b"")
        mode = None if text is None else "120000" if isinstance(text, Link) else "100644"
        change = FileChange(path, kind, new_mode=mode, binary=binary, added=() if binary else added)  # type: ignore[arg-type]  # one of the kinds
        changes.append(change)
    new = {path: data for path, data in new.items() if not isinstance(after.get(path), Link)}
    return Evidence(
        task=Task(id="t", prompt="x"),
        diff=Diff(files=tuple(changes)),
        before=old.get,
        after=new.get,
        baseline_files=frozenset(old),
    )


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
