"""Texts for people: hidden characters are written out, long ones cut, numbers aligned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from steelyard.web.pages.colours import painter
from steelyard.web.pages.text import LINE, WHOLE, bounded, finalize, money, seconds, short_count, size, visible, when


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("a\u202eb", r"a\u202eb"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\u200b\ufeff", r"\u200b\ufeff"),
        ("\U000e0041", r"\U000e0041"),
        ("ü漢🙂", "ü漢🙂"),
    ],
)
def test_hidden_characters_are_written_out(given: str, shown: str) -> None:
    """Controls, direction marks and invisible characters become escapes; what can be seen stays."""
    assert visible(given) == shown


@given(st.text(alphabet=st.characters(), max_size=300))
def test_whatever_is_shown_is_visible(text: str) -> None:
    """Showing twice is showing once: no escape is left to be made."""
    once = visible(text)
    assert visible(once) == once


def test_long_texts_and_lines_are_cut_and_counted() -> None:
    """Ten million characters become a few, and the rest is said."""
    shown = bounded("x" * 10_000_000)
    assert len(shown) < LINE + 100
    assert f"{WHOLE - LINE:,} more characters" in shown
    assert f"{10_000_000 - WHOLE:,} more characters" in shown
    assert bounded("short\nlines") == "short\nlines"


def test_what_a_template_prints_is_made_visible_unless_it_is_ours() -> None:
    """Texts are changed, our own markup is not, and nothing is a dash."""
    assert finalize("\x07") == r"\x07"
    assert finalize(Markup("<b>")) == "<b>"
    assert finalize(None) == "–"
    assert finalize(7) == 7


def test_a_time_that_is_none_is_shown_as_text() -> None:
    """An agent's word for a time stays a word."""
    assert str(when("<b>")) == "&lt;b&gt;"
    assert 'datetime="2026-01-01T00:00:00Z"' in when("2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (money(0.0042), "$0.0042"),
        (money(1234.5), "$1,234.50"),
        (money(None), "–"),
        (seconds(0.04), "0.04 s"),
        (seconds(75), "1 min 15 s"),
        (seconds(7300), "2 h 01 min"),
        (short_count(9_999), "9,999"),
        (short_count(123_456), "123.5k"),
        (short_count(2_500_000), "2.5M"),
        (size(999), "999 B"),
        (size(1_500_000), "2 MB"),
    ],
)
def test_numbers_are_short_and_plain(shown: str, expected: str) -> None:
    """As people write them."""
    assert shown == expected


@pytest.mark.parametrize("path", ["a.py", "a.js", "a.json", "a.yaml", "a.rs", "a.unknown", "noending"])
def test_colours_escape_what_they_colour(path: str) -> None:
    """Whatever the language, markup stays text."""
    painted = painter(path)('x = "<script>alert(1)</script>" \x1b # <img>')
    assert "<script" not in painted
    assert "<img" not in painted
    assert r"\x1b" in painted.striptags()
