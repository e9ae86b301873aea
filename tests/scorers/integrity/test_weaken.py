"""Weakened assertions in files that only line rules can read."""

import pytest

from steelyard.scorers.integrity.analyse import Pair
from steelyard.scorers.integrity.lines import line_view
from steelyard.scorers.integrity.weaken import weakenings


def by_lines(family: str, before: str, after: str) -> Pair:
    """A changed test file as a machine without grammars sees it."""
    return Pair("a", line_view(family, before), line_view(family, after), after_text=after)


@pytest.mark.parametrize(
    ("family", "before", "after"),
    [
        ("typescript", "  expect(f()).toEqual({a: 1});\n", "  expect(f()).toBeTruthy();\n"),
        ("javascript", "  expect(total(cart)).toBe(12);\n", "  expect(total(cart)).toBeDefined();\n"),
        ("kotlin", "    assertEquals(1, f())\n", "    assertNotNull(f())\n"),
        ("java", "    assertEquals(1, f());\n", "    assertNotNull(f());\n"),
        ("csharp", "    Assert.Equal(1, F());\n", "    Assert.NotNull(F());\n"),
    ],
)
def test_a_weaker_check_of_the_same_value_is_found(family: str, before: str, after: str) -> None:
    """The count stays, the value is pinned down less: that is a finding, without any grammar."""
    (finding,) = weakenings([by_lines(family, before, after)])

    assert (finding.rule, finding.path, finding.line) == ("loosened", "a", 1)
    assert weakenings([by_lines(family, after, before)]) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  expect(f()).toEqual(1);\n", "  expect(f()).toEqual(2);\n"),
        ("  expect(f()).toEqual(1);\n", "\n\n  expect(f()).toEqual(1);\n"),
        ("  expect(f()).toEqual(1);\n", "  expect(f()).toBeTruthy();\n  expect(f()).toEqual(2);\n"),
        ("  expect(f()).toEqual(1);\n", "  expect(g()).toBeTruthy();\n"),
    ],
)
def test_other_changes_of_lines_are_none(before: str, after: str) -> None:
    """Another value, a moved line, a check beside a strong one and a check of something else are not weaker."""
    assert weakenings([by_lines("javascript", before, after)]) == []
