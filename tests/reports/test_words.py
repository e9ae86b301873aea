"""Numbers and names for people."""

import pytest

from steelyard.reports import words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (words.money(None), "unknown"),
        (words.money(0.0), "$0.00"),
        (words.money(1234.5), "$1,234.50"),
        (words.money(-0.0123, sign=True), "−$0.0123"),
        (words.money(0.0000001, sign=True), "$0.00"),
        (words.seconds(None), "unknown"),
        (words.seconds(0.5), "0.50 s"),
        (words.seconds(-59.94, sign=True), "−59.9 s"),
        (words.seconds(600), "10.0 min"),
        (words.seconds(36_000), "10.0 h"),
        (words.count(None), "unknown"),
        (words.count(1_234_567), "1,234,567"),
        (words.count(2.5), "2.5"),
        (words.count(0, sign=True), "0"),
        (words.composite(0.123456, sign=True), "+0.1235"),
        (words.composite(-0.00001, sign=True), "0.0000"),
        (words.percent(0.5), "50.0 %"),
        (words.points(-0.25, sign=True), "−25.0 pp"),
        (words.p_value(0.00001), "< 0.0001"),
        (words.p_value(0.05), "0.0500"),
        (words.p_value(None), "unknown"),
        (words.relative(2, 4), "−50.0 %"),
        (words.relative(0, 0), "0.0 %"),
        (words.relative(1, 0), "unknown"),
        (words.relative(None, 1), "unknown"),
        (words.many(1, "task"), "1 task"),
        (words.many(2, "task"), "2 tasks"),
        (words.many(0, "task"), "0 tasks"),
        (words.checks(4.0), "4"),
        (words.checks(2.666), "2.67"),
    ],
)
def test_numbers_have_units_and_unknown_is_never_zero(text: str, shown: str) -> None:
    """Rounded, signed where asked, and a difference that rounds to nothing has no sign."""
    assert text == shown


def test_a_name_is_one_harmless_line() -> None:
    """Line breaks, terminal codes and direction marks are shown as escapes; a long name keeps both its ends."""
    assert words.name("a\nb\x1b[31m\u202e") == "a\\nb\\x1b[31m\\u202e"
    long = words.name("start" + "x" * 500 + "end")
    assert len(long) == words.LONGEST_NAME
    assert long.startswith("start")
    assert long.endswith("end")
