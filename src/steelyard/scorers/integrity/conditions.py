"""Whether a condition always holds or never does, by its text, in every language that tree-sitter reads."""

import re
from functools import lru_cache

_TRUE = re.compile(r"(?i:true|boolean\.true|all\(\))|cfg!\s*\(\s*(?:test|all\(\s*\))\s*\)|not\s+false")
_FALSE = re.compile(
    r"(?i:false|boolean\.false)|null|nil|undefined|void 0|NaN"
    r"|cfg!\s*\(\s*(?:any\(\s*\)|not\(\s*(?:test|all\(\s*\))\s*\)|false|FALSE)\s*\)"
)
_EMPTY = re.compile(r"0|\"\"|''|``")  # false in scripts alone; Ruby takes them for true
_FULL = re.compile(r"[1-9]\d*|\"[^\"]+\"|'[^']+'|\[.*\]|\{.*\}|:\w+", re.DOTALL)
_LITERAL = re.compile(
    r"-?\d+(?:\.\d+)?[fFdDmMlLuU]*|\"[^\"]*\"|'[^']*'|:\w+|true|false|null|nil|undefined|\(\)|\[\]|\{\}"
)
_COMPARED = re.compile(r"(.+?)\s*(===?|!==?|<=|>=|<|>)\s*([^<>=!&|]+)")
_PURE = re.compile(r"[\w.\[\]@$]+")
LONGEST = 400


def is_literal(text: str) -> bool:
    """Whether a text is a plain value that stands there as it is."""
    return _LITERAL.fullmatch(text.strip()) is not None


@lru_cache(maxsize=4096)
def always(text: str, family: str = "") -> bool | None:
    """True or False for a condition that is always so; None where it is open."""
    said = _bare(text[: LONGEST + 1])
    if not said or len(said) > LONGEST:
        return None
    for sign, word, decides in (("||", "or", True), ("&&", "and", False)):
        parts = _split(said, sign, word if family == "ruby" else "")
        if len(parts) > 1:
            known = [always(part, family) for part in parts]
            if decides in known:
                return decides
            return None if None in known else not decides
    if re.match(r"!(?!=)|not\b", said):
        inner = always(said[1:] if said[0] == "!" else said[3:], family)
        return None if inner is None else not inner
    if _TRUE.fullmatch(said):
        return True
    if _FALSE.fullmatch(said):
        return False
    if family in {"javascript", "typescript", "tsx"} and _EMPTY.fullmatch(said):
        return False
    return True if _FULL.fullmatch(said) and _closed(said) else _compare(said)


def _compare(said: str) -> bool | None:
    match = _COMPARED.fullmatch(said)
    if match is None:
        return None
    a, sign, b = (part.strip() for part in match.groups())
    left, right = _number(a), _number(b)
    if left is not None and right is not None:
        orders = {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}
        return orders[sign] if sign in orders else (left == right) is (sign[0] == "=")
    if a == b and (is_literal(a) or _PURE.fullmatch(a)) and sign[0] in "=!":
        return sign[0] == "="
    return None


def _number(text: str) -> int | None:
    """A whole number, or the sum, difference or product of two."""
    parts = re.fullmatch(r"(-?\d{1,18})(?:\s*([-+*])\s*(\d{1,18}))?", text)
    if parts is None:
        return None
    first, second = int(parts[1]), int(parts[3] or 0)
    return {"+": first + second, "-": first - second, "*": first * second}.get(parts[2] or "+")


def _bare(text: str) -> str:
    """Without the brackets around the whole."""
    said = re.sub(r"\blen\(\s*(?:\"\"|\[\])?\s*\)", "0", " ".join(text.split()))
    while said.startswith("(") and said.endswith(")") and _closed(said):
        said = said[1:-1].strip()
    return said


def _closed(said: str) -> bool:
    """Whether the bracket a text begins with is closed by its last sign, or there is none."""
    if said[0] not in "([{":
        return True
    depth = 0
    for place, sign in enumerate(said):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0:
            return place == len(said) - 1
    return False


def _split(said: str, sign: str, word: str) -> list[str]:
    """The parts between the signs that stand in no bracket."""
    if sign not in said and not word:
        return [said]
    depth, parts, start = 0, [], 0
    for match in re.finditer(rf"[()\[\]{{}}]|{re.escape(sign)}" + (rf"|\b{word}\b" if word else ""), said):
        if match.group() in "([{":
            depth += 1
        elif match.group() in ")]}":
            depth -= 1
        elif depth == 0:
            parts.append(said[start : match.start()])
            start = match.end()
    return [*parts, said[start:]]


def condition(code: str, at: int, family: str) -> str:
    """The text of the condition that begins here: what the brackets hold, or all up to the block."""
    start = at + len(code[at : at + 50]) - len(code[at : at + 50].lstrip())
    if family in {"go", "rust", "ruby"}:
        stop = r"\n|;|\bthen\b" if family == "ruby" else r"\s\{|\n"
        end = re.compile(stop).search(code, start, start + LONGEST)
        return code[start : end.start()].rpartition(";")[2] if end else code[start : start + LONGEST]
    depth = 0
    for place in range(start, min(len(code), start + LONGEST)):
        depth += (code[place] == "(") - (code[place] == ")")
        if depth <= 0:
            return code[start : place + 1]
    return ""
