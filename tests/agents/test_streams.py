"""Streams in any cuts, of any quality, in bounded memory."""

import json
import tracemalloc
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.agents.streams import MOST_RAW, JsonLines, Lines, clip, clip_value, count, money, parse_object

steadily = settings(deadline=None, derandomize=True, database=None)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The data in pieces."""
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@steadily
@given(st.lists(st.binary(max_size=40)), st.lists(st.integers(min_value=0, max_value=10_000), max_size=20))
def test_cuts_do_not_matter(lines: list[bytes], places: list[int]) -> None:
    """However a stream is cut into chunks, the same lines come out, long ones dropped alike."""
    data = b"\n".join(lines)
    wanted: list[bytes | int] = [len(line) if len(line) > 20 else line for line in data.split(b"\n") if line]
    got: list[bytes | int] = []
    reader = Lines(got.append, got.append, limit=20)

    for chunk in cut(data, places):
        reader.feed(chunk)
    reader.close()

    assert got == wanted


@steadily
@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(data: bytes) -> None:
    """Whatever is printed, reading goes on."""
    events: list[dict[str, Any]] = []
    reader = JsonLines(events.append)

    reader.feed(data + b'\n{"type": "last"}\n')
    reader.close()

    assert events[-1] == {"type": "last"}


def test_a_gigabyte_line_costs_no_memory() -> None:
    """A line past the limit is dropped as it comes, and the next one is read."""
    events: list[dict[str, Any]] = []
    reader = JsonLines(events.append, limit=1_000_000)
    chunk = b"x" * 1_000_000

    tracemalloc.start()
    reader.feed(b'{"a": "')
    for _ in range(1000):
        reader.feed(chunk)
    reader.feed(b'"}\n{"type": "after"}\n')
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    reader.close()

    assert events == [{"type": "after"}]
    assert peak < 10_000_000
    assert any("left out" in note for note in reader.notes())


def test_a_stream_that_breaks_off_is_noted() -> None:
    """Half a line at the end is counted and said; a whole one without its line end is fine."""
    broken, whole = JsonLines(lambda _: None), JsonLines(lambda _: None)
    broken.feed(b'{"type": "a"}\n{"type": "b')
    whole.feed(b'{"type": "a"}\n{"type": "b"}')
    broken.close()
    whole.close()

    assert "its output broke off inside a line" in broken.notes()
    assert (whole.notes(), whole.events) == ([], 2)


def test_half_characters_become_storable() -> None:
    """A lone surrogate can't be stored, so it is replaced; a pair is one character."""
    value = parse_object(b'{"a": "\\ud800!", "b": "\\ud83d\\ude00", "\\udfff": [1]}')

    assert value is not None
    assert json.dumps(value, ensure_ascii=False).encode("utf-8")
    assert value["b"] == "😀"


def test_not_utf_8_is_still_read() -> None:
    """Bytes of another encoding become replacement characters."""
    assert parse_object(b'{"a": "\xff"}') == {"a": "�"}


def test_deep_nesting_is_cut() -> None:
    """JSON nested past all reason is neither a crash nor kept."""
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]

    assert "end" not in json.dumps(clip_value({"a": deep}))
    assert parse_object(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}") is None


def test_clipping_keeps_both_ends() -> None:
    """Head and tail stay, and how much is missing is said."""
    text = clip("a" * 50 + "b" * 1000 + "c" * 50, 100)

    assert text.startswith("a" * 50)
    assert text.endswith("c" * 25)
    assert "1000 characters left out" in text


def test_unbelievable_numbers_are_unknown() -> None:
    """Negative, fractional, gigantic and Boolean counts are no counts; infinite money is no money."""
    assert [count(value) for value in (5, -1, 1.5, True, 2**60, "7", None)] == [5, *[None] * 6]
    assert [money(value) for value in (0.5, -1, float("inf"), float("nan"), True, "1")] == [0.5, *[None] * 5]


def test_a_flood_of_unknown_events_is_bounded() -> None:
    """All are counted, the first are kept, and none of them whole when it is huge."""
    stream = JsonLines(lambda event: stream.unknown(event))
    for number in range(3 * MOST_RAW):
        stream.feed(json.dumps({"type": "new", "number": number, "text": "x" * 100_000}).encode() + b"\n")

    assert stream.notes() == [f"{3 * MOST_RAW} lines of its output: of the unknown type 'new'"]
    assert [event["number"] for event in stream.raw] == list(range(MOST_RAW))
    assert max(len(event["text"]) for event in stream.raw) < 10_000
