r"""Texts for people to read: nothing that an agent wrote can move the cursor, turn the line around or fill the page.

Control characters and those that change the direction of text are shown as escapes (`\x1b`, `\u202e`). A line longer
than `LINE` and a text longer than `WHOLE` characters are cut, and how much is missing is said.
"""

import re
from datetime import datetime
from typing import Any

from markupsafe import Markup

LINE = 2_000
WHOLE = 64_000
# C0 and C1 controls but tab and newline, soft hyphen, zero-width and direction marks, line separators, BOM, tags,
# and variation selectors beyond the first sixteen, which can carry hidden text.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
_LONG = re.compile(f"[^\n]{{{LINE + 1},}}")
NONE = "–"


def visible(text: str) -> str:
    """A text with every hidden character written out."""
    return _HIDDEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def bounded(text: str, whole: int = WHOLE) -> str:
    """A text of which only the start is shown when it is long, and of each long line only its start."""
    rest = len(text) - whole
    if rest > 0:
        text = text[:whole]
    text = _LONG.sub(lambda match: f"{match[0][:LINE]} … {len(match[0]) - LINE:,} more characters", text)
    return f"{text}\n… {rest:,} more characters" if rest > 0 else text


def finalize(value: Any) -> Any:
    """What every `{{ … }}` of a template passes: agents' texts can't be forgotten."""
    if value is None:
        return NONE
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(bounded(value))
    return value


def count(value: float | None) -> str:
    """A whole number with separators."""
    return NONE if value is None else f"{value:,.0f}"


def short_count(value: float | None) -> str:
    """A whole number in few characters."""
    if value is None:
        return NONE
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):,.1f}{unit}"
    return f"{value:,.0f}"


def money(value: float | None) -> str:
    """Dollars; small sums with more digits."""
    return NONE if value is None else f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def seconds(value: float | None) -> str:
    """A duration."""
    if value is None:
        return NONE
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def fraction(value: float | None) -> str:
    """A number from 0 to 1."""
    return NONE if value is None else f"{value:.2f}"


def signed(value: float | None) -> str:
    """A difference, with its sign; what rounds to nothing has none."""
    if value is None:
        return NONE
    shown = f"{value:+.1f}".replace("-", "\N{MINUS SIGN}")
    return "0.0" if shown[1:] == "0.0" else shown


def size(value: int | None) -> str:
    """Bytes."""
    if value is None:
        return NONE
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}"
        value = round(value / 1000)
    return f"{value:,.0f} GB"


def when(text: str | None) -> Markup:
    """An instant; the browser puts it into its own zone."""
    try:
        parsed = datetime.fromisoformat(text or "")
    except ValueError:
        return Markup.escape(visible(bounded(text or NONE, 60)))
    shown = parsed.strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(text, shown, shown)


def raw_text(text: str) -> Markup:
    """A text as a form holds it: escaped, and whole, so that sending the form changes nothing."""
    return Markup.escape(text)


FILTERS = {
    "raw_text": raw_text,
    "count": count,
    "short_count": short_count,
    "money": money,
    "seconds": seconds,
    "fraction": fraction,
    "signed": signed,
    "size": size,
    "when": when,
}
