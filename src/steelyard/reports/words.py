"""Numbers and names for people: rounded, with units, the unknown called unknown, and nothing that a terminal obeys."""

UNKNOWN = "unknown"
MINUS = "−"
LONGEST_NAME = 80


def visible(text: str) -> str:
    """A text on one line without terminal codes: what can't be printed is shown as an escape."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text.replace("\t", " ")
    )


def name(text: str, longest: int = LONGEST_NAME) -> str:
    """A name as it is shown: on one line, and cut in the middle when it is very long."""
    shown = visible(text)
    if len(shown) <= longest:
        return shown
    head = (longest - 1) // 2
    return f"{shown[:head]}…{shown[len(shown) - (longest - 1 - head) :]}"


def many(count: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: 1 task, 2 tasks, 1,000 tasks."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def money(value: float | None, *, sign: bool = False) -> str:
    """US dollars; small amounts keep four decimals."""
    if value is None:
        return UNKNOWN
    digits = 2 if abs(value) >= 1 or round(value, 6) == 0 else 4
    return _signed(value, f"${abs(value):,.{digits}f}", sign=sign)


def seconds(value: float | None, *, sign: bool = False) -> str:
    """A duration in the largest unit that keeps it readable."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    if size < 9.995:
        text = f"{size:.2f} s"
    elif size < 120:
        text = f"{size:.1f} s"
    elif size < 7200:
        text = f"{size / 60:.1f} min"
    else:
        text = f"{size / 3600:,.1f} h"
    return _signed(value, text, sign=sign)


def count(value: float | None, *, sign: bool = False) -> str:
    """Tokens, steps, calls: whole numbers, or one decimal where a mean needs it."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    text = f"{size:,.0f}" if size >= 100 or size == int(size) else f"{size:,.1f}"
    return _signed(value, text, sign=sign)


def checks(value: float | None) -> str:
    """A mean number of checks."""
    return UNKNOWN if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def composite(value: float | None, *, sign: bool = False) -> str:
    """A composite or a difference of two."""
    return UNKNOWN if value is None else _signed(value, f"{abs(value):.4f}", sign=sign)


def percent(value: float | None) -> str:
    """A rate in [0, 1] as per cent."""
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


def points(value: float | None, *, sign: bool = False) -> str:
    """A difference of two rates, in percentage points."""
    return UNKNOWN if value is None else _signed(value, f"{100 * abs(value):.1f} pp", sign=sign)


def p_value(value: float | None) -> str:
    """A p-value; a very small one only says how small."""
    if value is None:
        return UNKNOWN
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def relative(candidate: float | None, baseline: float | None) -> str:
    """How much more or less the candidate has, in per cent of the baseline."""
    if candidate is None or baseline is None or baseline == 0:
        return UNKNOWN if candidate is None or baseline is None or candidate != baseline else "0.0 %"
    change = 100 * (candidate / baseline - 1)
    return _signed(change, f"{abs(change):,.1f} %", sign=True)


def _signed(value: float, text: str, *, sign: bool) -> str:
    """The text of a size with its sign; what rounds to nothing has none."""
    if not any(digit in text for digit in "123456789"):
        return text
    if value < 0:
        return MINUS + text
    return "+" + text if sign else text
