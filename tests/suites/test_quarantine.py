"""Writing `quarantine` into a suite file."""

import pytest
import yaml

from steelyard.errors import InputError
from steelyard.suites.quarantine import with_quarantine

BLOCK = """\
# tasks of mine
tasks:
  - id: one   # the first
    prompt: "Do it."

    scorers:   # what counts
      - {name: a b, type: command, command: "true"}
  - {id: two, prompt: Do it., tags: [x]}   # in one line
arms: {}
"""


@pytest.mark.parametrize(
    ("wanted", "old", "new"),
    [
        ({"one": ["a b"]}, "# the first\n", "# the first\n    quarantine: [a b]\n"),
        ({"two": ["a", "b: c"]}, "tags: [x]}", "tags: [x], quarantine: [a, 'b: c']}"),
    ],
)
def test_only_one_place_changes(wanted: dict[str, list[str]], old: str, new: str) -> None:
    """A line after the id, or an entry at the end of a mapping on one line; comments and layout stay."""
    assert with_quarantine(BLOCK, wanted) == BLOCK.replace(old, new)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("quarantine: [a]   # known\n", "quarantine: [a, b]   # known\n"),
        ("quarantine: []\n", "quarantine: [a, b]\n"),
        ("quarantine:\n      - a   # known\n", "quarantine:\n      - a   # known\n      - b\n"),
        ("quarantine:\n    - a   # known\n", "quarantine:\n    - a   # known\n    - b\n"),
        (
            "quarantine:   # flaky ones\n      # net\n      - a\n",
            "quarantine:   # flaky ones\n      # net\n      - a\n      - b\n",
        ),
    ],
)
def test_what_is_there_is_added_to(before: str, after: str) -> None:
    """Every way of writing a list."""
    text = f"tasks:\n  - id: one\n    {before}    prompt: x\n"

    assert with_quarantine(text, {"one": ["a", "b"]}) == text.replace(before, after)


def test_line_ends_are_kept() -> None:
    """A file from Windows stays one, and the last line needs no end."""
    assert with_quarantine("tasks:\r\n  - prompt: x\r\n    id: one", {"one": ["a"]}).endswith(
        "id: one\r\n    quarantine: [a]"
    )
    text = "tasks:\r\n  - id: one\r\n    prompt: x\r\n"
    assert with_quarantine(text, {"one": ["a"]}).count("\r\n") == 4
    assert "\n" not in with_quarantine(text, {"one": ["a"]}).replace("\r\n", "")


def test_names_come_back_as_they_were() -> None:
    """Signs, quotes and letters of any script."""
    names = ["yes", "1", "a: b", "x # y", "naïve ✓", "it's", '"q"', "- d"]

    assert yaml.safe_load(with_quarantine(BLOCK, {"one": names}))["tasks"][0]["quarantine"] == names


def test_names_are_those_of_the_suite() -> None:
    """`no` is a name here, as everywhere in a suite."""
    text = "tasks:\n  - id: no\n    prompt: x\n"

    assert with_quarantine(text, {"no": ["a"]}) == "tasks:\n  - id: no\n    quarantine: [a]\n    prompt: x\n"


def test_a_task_that_shares_its_lines_is_left_alone() -> None:
    """An alias would change two tasks at once."""
    text = "tasks:\n  - &t {id: one, prompt: x}\n  - *t\n"

    with pytest.raises(InputError, match="by hand"):
        with_quarantine(text, {"one": ["a"]})
