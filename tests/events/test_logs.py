"""Logs as JSON lines, and lines for people."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from steelyard.events.logs import JsonFormatter, PlainFormatter, configure, request_id


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """The root logger goes on as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_is_one_json_object() -> None:
    """Whatever is in the message, the extra fields or the traceback, it stays one line that parses."""
    stream = io.StringIO()
    configure(as_json=True, stream=stream)
    token = request_id.set("abc")
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("steelyard.test").exception("bad %s", "\x1b[31m\n", extra={"status": 500, "odd": object()})
    request_id.reset(token)
    logging.getLogger("steelyard.test").info("later")

    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["level"], first["logger"], first["message"]) == ("error", "steelyard.test", "bad \x1b[31m\n")
    assert (first["request_id"], first["status"]) == ("abc", 500)
    assert "ValueError: two" in first["exception"]
    assert "request_id" not in second


@pytest.mark.parametrize("formatter", [JsonFormatter(), PlainFormatter()])
def test_text_that_is_not_unicode_is_shown_as_escapes(formatter: logging.Formatter) -> None:
    """An agent's broken text never breaks the log."""
    line = formatter.format(logging.makeLogRecord({"msg": "odd \udc80"}))

    assert "odd \\udc80" in line
    assert line.isascii()


def test_configuring_twice_does_not_tell_twice() -> None:
    """The last one counts."""
    streams = io.StringIO(), io.StringIO()
    for stream in streams:
        configure(as_json=False, stream=stream)
    logging.getLogger("steelyard.test").warning("once \x1b[2J")

    assert streams[0].getvalue() == ""
    assert streams[1].getvalue().count("once \\x1b[2J") == 1
