"""What the commands that look into the store share."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from steelyard.errors import InputError
from steelyard.settings import read_settings

if TYPE_CHECKING:
    from steelyard.store.database import Store

_AGO = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def open_existing() -> "Store":
    """The store that the settings name; `InputError` when there is none yet."""
    from steelyard.store.database import open_store

    settings = read_settings()
    return open_store(settings.store_url, settings.artifacts, must_exist=True)


def since(option: str, text: str) -> str:
    """An instant from a date, a time, or how long ago (`90m`, `12h`, `7d`, `4w`)."""
    from steelyard.store.rows import instant

    ago = _AGO.fullmatch(text)
    if ago is None:
        try:
            return instant(text, option)
        except InputError:
            raise InputError(f"{option} {text[:60]!r}: allowed: 2026-01-31, 2026-01-31T12:00:00Z, 12h, 7d") from None
    try:
        then = datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    except OverflowError:
        raise InputError(f"{option} {text}: that is before the year 1; give less") from None
    return instant(then.isoformat())
