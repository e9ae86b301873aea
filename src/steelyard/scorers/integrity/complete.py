"""Gives a text that was cut out of a larger one the brackets it lacks, so that it can be parsed."""

import re
from collections.abc import Iterator

from steelyard.scorers.integrity.lines import RULES, blanked
from steelyard.scorers.integrity.mend import mended

LONGEST, MOST = 40_000, 40
_CLOSES = {")": "(", "]": "[", "}": "{"}
_OPENS = {opens: closes for closes, opens in _CLOSES.items()}
_HEADS = {
    "go": ("func _() ",),
    "rust": ("fn _f() ", "mod _m { fn _f() ", "impl _T { fn _f() "),
    "java": ("class _C { void _f() ", "class _C { class _D { void _f() ", "class _C "),
    "kotlin": ("fun _f() ", "class _C { fun _f() ", "class _C "),
    "csharp": (
        "class _C { void _f() ",
        "namespace _N { class _C { void _f() ",
        "class _C ",
        "namespace _N { class _C ",
    ),
}
_CALLS = {"go": "_f(func() { ", "rust": "_f(|| { ", "java": "_f(() -> { ", "kotlin": "_f({ "}


def completions(family: str, text: str) -> Iterator[str]:
    """The text with what was cut off before and behind it, in several ways; line numbers stay."""
    if family == "ruby" or len(text) > LONGEST:
        return
    text = mended(family, text)
    missing, open_ = _unmatched(RULES[family].blank.sub(blanked, text))
    if not missing and not open_ and family not in _HEADS:
        return
    if len(missing) > MOST or len(open_) > MOST:
        return
    behind = "\n" + "".join(_OPENS[sign] for sign in reversed(open_))
    if missing or open_:
        yield _before(missing, family) + text + behind
    for head in _HEADS.get(family, ()):
        depth = head.count("{") + 1
        if len(missing) >= depth and all(sign == "}" for sign in missing[-depth:]):
            yield head + "{ " + _before(missing[:-depth], family) + text + behind
        elif not missing:
            yield head + "{ " + text + behind + "}" * depth


def _unmatched(code: str) -> tuple[list[str], list[str]]:
    """The closing brackets that nothing opens, inner ones first, and the opening ones that nothing closes."""
    missing: list[str] = []
    open_: list[str] = []
    for match in re.finditer(r"[()\[\]{}]", code):
        sign = match.group()
        if sign in _OPENS:
            open_.append(sign)
        elif open_ and open_[-1] == _CLOSES[sign]:
            open_.pop()
        elif not open_:
            missing.append(sign)
    return missing, open_


def _before(missing: list[str], family: str = "javascript") -> str:
    """What has to stand before a text so that these brackets close something."""
    opened = ""
    signs = "".join(missing)
    while signs:
        if signs.endswith("})"):
            opened, signs = opened + _CALLS.get(family, "_f(() => { "), signs[:-2]
        elif signs.endswith("}"):
            opened, signs = opened + "{ ", signs[:-1]
        else:
            opened, signs = opened + ("_f(" if signs[-1] == ")" else "["), signs[:-1]
    return opened
