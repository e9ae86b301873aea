"""Hostile and broken files: a grade and a stated fallback, never a crash."""

import pytest

from tests.scorers.integrity.build import ASSERTIONS, SKIPS, evidence

PY = "def test_a():\n    assert f(1) == 2\n"
JS = "it('a', () => {\n  expect(f()).toBe(1)\n})\n"

CASES: dict[str, tuple[str, str | bytes]] = {
    "deep brackets": ("tests/test_a.py", PY + "x = " + "(" * 10_000 + ")" * 10_000 + "\n"),
    "deep signs": ("tests/test_a.py", PY + "x = " + "-" * 20_000 + "1\n"),
    "deep attributes": ("tests/test_a.py", PY + "x = a" + ".b" * 20_000 + "\n"),
    "deep sums": ("tests/test_a.py", PY + "assert a" + "+b" * 20_000 + "\n"),
    "deep blocks": ("tests/test_a.py", PY + "".join(" " * i + "if x:\n" for i in range(500))),
    "deep array": ("a.test.js", JS + "const x = " + "[" * 10_000 + "]" * 10_000 + "\n"),
    "broken python": ("tests/test_a.py", PY + "def broken(:\n"),
    "broken script": ("a.test.js", JS + "it('b', () => {{{\n"),
    "NUL bytes": ("tests/test_a.py", b"\0\0" + PY.encode()),
    "large file": ("tests/test_a.py", PY + "# x\n" * 600_000),
    "long line": ("a.test.js", JS + "const x = '" + "a" * 2_500_000 + "'\n"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_text_is_read_by_rules_and_said_so(case: str) -> None:
    """The assertion is still there, so nothing is flagged, and the grade says how the file was read."""
    path, after = CASES[case]
    change = evidence({path: PY if path.endswith(".py") else JS}, {path: after})

    grade = ASSERTIONS.score(change, None)

    assert grade.verdict == "PASS"
    assert SKIPS.score(change, None).verdict == "PASS"
    assert path in grade.detail


def test_breaking_a_file_hides_nothing() -> None:
    """A removed assertion is seen although the rest no longer parses."""
    change = evidence({"tests/test_a.py": PY}, {"tests/test_a.py": "def test_a():\n    pass\ndef broken(:\n"})

    assert ASSERTIONS.score(change, None).verdict == "FAIL"


def test_a_test_turned_into_bytes_is_gone() -> None:
    """A file that nobody can read asserts nothing."""
    change = evidence({"tests/test_a.py": PY}, {"tests/test_a.py": b"\x80\xff\x00" * 500})

    assert ASSERTIONS.score(change, None).verdict == "FAIL"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings(encoding: str) -> None:
    """Rewriting a file in another encoding changes no assertion."""
    text = "# -*- coding: latin-1 -*-\n# é\n" + PY
    change = evidence({"tests/test_a.py": text.encode("utf-8")}, {"tests/test_a.py": text.encode(encoding)})

    assert ASSERTIONS.score(change, None).verdict == "PASS"


def test_notebooks_are_read_cell_by_cell() -> None:
    """Code cells count as Python; magic lines don't stop that."""
    cell = '{"cells": [{"cell_type": "code", "source": ["%%time\\n", "def test_a():\\n", "    assert f() == 1%s\\n"]}]}'
    change = evidence({"tests/test_n.ipynb": cell % ""}, {"tests/test_n.ipynb": cell % " or True"})

    assert ASSERTIONS.score(change, None).verdict == "FAIL"


def test_a_part_inside_a_long_string_is_no_test() -> None:
    """Only the whole file shows that a changed line stands in a string."""
    filler = "".join(f"def test_{n}():\n    assert f({n}) == {n}\n\n" for n in range(40))
    text = filler + 'CODE = """\ndef test_inner():\n    assert x == 1\n    assert y == 2\n"""\n'
    change = evidence({"tests/test_a.py": text}, {"tests/test_a.py": text.replace("    assert y == 2\n", "")})

    assert ASSERTIONS.score(change, None).verdict == "PASS"
