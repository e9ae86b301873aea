"""Logs: lines for people, or with `--log-json` one JSON object a line for programs; both on stderr."""

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import IO, Any

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class JsonFormatter(logging.Formatter):
    """time, level, logger, message, the request's id, what the caller added with `extra`, and a traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever is in the record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (current := request_id.get()) is not None:
            line["request_id"] = current
        line |= {name: value for name, value in vars(record).items() if name not in _OWN and name not in line}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


class PlainFormatter(logging.Formatter):
    """A line for people, with control characters made visible: what an agent wrote never drives a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level and message."""
        text = super().format(record)
        return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def configure(*, as_json: bool, level: int = logging.INFO, stream: IO[str] | None = None) -> logging.Handler:
    """Send all logs of this process to stderr; to be called once, by a command. The handler, for whoever removes it."""
    handler = logging.StreamHandler(stream or sys.stderr)
    if as_json:
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old.formatter, JsonFormatter | PlainFormatter)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    return handler
