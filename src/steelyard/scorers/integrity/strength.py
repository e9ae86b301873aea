"""How much a check of any language pins down, judged by the text of its statement."""

import re
from functools import lru_cache

from steelyard.scorers.integrity.model import EXACT, NOTHING, PARTIAL, PRESENCE

CACHED = 4096  # most checks of a changed test stand on both sides
_PRESENCE = re.compile(
    r"\b(?:toBeDefined|toBeTruthy|not\.toBeNull|not\.toBeUndefined|not\.toBeFalsy|not\.toBeNil|toBeInTheDocument"
    r"|NotNil|NotZero|assertNotNull|assertIsNotNull|IsNotNull|NotNull|NotBeNull|ShouldNotBeNull|ShouldNotBeEmpty"
    r"|isNotNull|isNotEmpty|notNullValue|isPresent|shouldNotBeNull|refute_nil|assert_not_nil|refute_empty|be_present"
    r"|be_truthy|not_to be_nil|be_a_kind_of|must_be_kind_of|truthy|assert\.ok|assert\.exists|assert\.isDefined"
    r"|assert\.isOk|exist|not\.undefined|not\.null|DoesNotThrow|doesNotThrow|not\.toThrow|assertDoesNotThrow|NotEmpty"
    r"|toHaveBeenCalled\(\)|called\b)"
)
_PARTIAL = re.compile(
    r"(?:\b(?:toContain\w*|toMatch(?!InlineSnapshot|Snapshot|FileSnapshot)\w*|toBe(?:Greater|Less)\w*|toBeCloseTo"
    r"|toBeInstanceOf|toHaveProperty|toStartWith|toEndWith|arrayContaining|objectContaining|stringContaining|expect\.any"
    r"|anything|\w*Contains\w*|contains(?!Exactly)\w*|is(?:Less|Greater)Than\w*|isAt(?:Least|Most)|isBetween|isCloseTo|Subset|Greater\w*|Less\w*|InDelta|InEpsilon|Regexp|NotEqual\w*|assertNotEquals"
    r"|startsWith|endsWith|containsString|instanceOf|isInstanceOf|assert_includes?|assert_match|assert_operator"
    r"|assert_in_delta|assert_kind_of|be_a|be_an|be_kind_of|include|match|be_within|assert_ne|ErrorContains"
    r"|StartsWith|EndsWith|IsType|IsAssignableFrom|ShouldContain|ShouldMatch|shouldContain|closeTo|notEqual|like)\b"
    r"|not\.to|\.not\.|[<>]=?(?!\w*>))"
)
_TRUTH = re.compile(
    r"^(?:assert|t\.truthy|t\.ok|(?P<typed>assert!|debug_assert!|assert\.isTrue|\w*\.?assertTrue"
    r"|Assert\.(?:True|IsTrue)|(?:assert|require)\.True[Tf]*|t\.true|assert_true))[ (]"
)
_OPEN = re.compile(r"[<>]|!=|contains|matches|starts_with|&&|\|\||instanceof|is_(?:some|ok|err)\b|isPresent| is ")
_OR_TRUE = re.compile(r"(?:\|\||\bor)\s*(?:true|1)\s*(?:[),;]|$)")
_ALWAYS = re.compile(
    r"(?:\w+\.)*(?:assertTrue|assert!|assert|isTrue|IsTrue|True|ok|truthy|true|pass|assert_true|isOk)\s*[( ]\s*"
    r"(?:\w{1,3},\s*)?(?:true|1|!0|!false)\s*(?:,[^()]*)?\)?;?$"
    r"|(?:\w+\.)*(?:assertFalse|IsFalse|False|falsy|refute|isFalse)\s*[( ]\s*"
    r"(?:\w{1,3},\s*)?(?:false|0|nil)\s*(?:,[^()]*)?\)?;?$"
    r"|(?:await\s+)?expect\s*\(\s*(?:true|1|!0|!false|\"[^\"]*\"|'[^']*'|\d+|\[\]|\{\})\s*\)\s*\."
    r"(?:toBeTruthy|toBeDefined|not\.toBeNull|not\.toBeUndefined|to\.be\.true|to\.be\.ok|to\.exist"
    r"|to be_truthy|to\(be_truthy)"
)
_PAIR = re.compile(
    r"^(?:await\s+)?expect\s*\((?P<a>[^()]{1,120})\)\s*\.\s*(?:to\w*|to\.\w+(?:\.\w+)?|to)\s*[ (]\s*"
    r"(?:eq\s*[ (]\s*)?(?P<b>[^()]{1,120}?)\)*;?$"
)
_NUMBER = r"(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)"


def arguments(text: str) -> list[str]:
    """The arguments of the first call in a statement, split at its top-level commas."""
    start = text.find("(")
    command = re.match(r"(?:\w+\.)?(?:assert|refute|flunk)\w*[!?]?[ \t]+(?![ \t(=.])", text)
    if command is not None:  # a call without brackets
        text, start = f"{text[: command.end()]}({text[command.end() :]})", command.end()
    if start < 0:
        return []
    depth, parts, current = 0, [], start + 1
    for match in re.finditer(r"\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?|`[^`]*`?|[()\[\]{},]", text[start:]):
        sign, at = match.group(), start + match.start()
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
            if depth == 0:
                parts.append(text[current:at])
                break
        elif sign == "," and depth == 1:
            parts.append(text[current:at])
            current = at + 1
    return [part.strip() for part in parts if part.strip()]


@lru_cache(maxsize=CACHED)
def strength_of(text: str) -> int:
    """The strength of a check by its text."""
    said = " ".join(text.split())
    if _is_empty(said):
        return NOTHING
    if _PRESENCE.search(said):
        return PRESENCE
    truth = _TRUTH.match(said)
    if truth:
        if "==" in said or ".equals(" in said or "eq?" in said:
            return EXACT
        if _OPEN.search(said):
            return PARTIAL
        # Where a value has a type, what is true is pinned down; elsewhere it is merely there.
        return EXACT if truth["typed"] else PRESENCE
    return PARTIAL if _PARTIAL.search(_unstrung(said)) else EXACT


def _unstrung(said: str) -> str:
    return re.sub(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|->|=>|<\w[\w<>, ]*>\(", '""', said)


def _is_empty(said: str) -> bool:
    if _ALWAYS.match(said) or (("||" in said or "or" in said) and _OR_TRUE.search(said)):
        return True
    pair = _PAIR.match(said)
    if pair is not None and _same(pair["a"], pair["b"]):
        return True
    name = said.partition("(")[0]
    if re.search(r"(?:[eE]quals?|assert_eq!|assertSame|Same|strictEqual|assert_equal|\.is|AreEqual)$", name):
        given = [part for part in arguments(said) if part not in {"t", "s.T()"}]
        return len(given) >= 2 and _same(given[0], given[1])
    return False


def _same(a: str, b: str) -> bool:
    """Whether two operands are one and the same; calls may differ each time they are made."""
    return a.strip() == b.strip() and "(" not in a


@lru_cache(maxsize=CACHED)
def counted(text: str) -> int:
    """Whether a check can fail at all by its text; how much it pins down is asked for only where it changed."""
    return NOTHING if _is_empty(" ".join(text.split())) else EXACT


@lru_cache(maxsize=CACHED)
def subjects_of(text: str) -> tuple[str, ...]:
    """The values a check looks at: its first arguments that are no plain literals."""
    said = " ".join(text.split())
    found = [
        part
        for part in arguments(said)[:3]
        if not re.fullmatch(rf"[-!]?{_NUMBER}|\".*\"|'.*'|true|false|null|nil|t", part)
    ]
    sides = [side.strip() for part in found for side in re.split(r"[=!<>]=+|[<>]|&&|\|\||\.equals\(", part)]
    return tuple(
        dict.fromkeys(
            part[:200] for part in (*found, *sides) if part.isalpha() or (len(part) > 1 and not part.isdigit())
        )
    )


@lru_cache(maxsize=CACHED)
def tolerance_of(text: str) -> float | None:
    """How much difference a numeric check lets through, where it is written as a number."""
    digits = re.search(rf"toBeCloseTo\([^,()]+(?:\([^()]*\)[^,()]*)?,\s*({_NUMBER})\s*\)", text)
    if digits:
        return float(10.0 ** -min(300.0, float(digits.group(1))))
    given = re.search(
        rf"(?:InDelta|InEpsilon|assert_in_delta|assertEquals|be_within|within|closeTo|offset)\b.*?({_NUMBER})[fFdD]?\s*\)+[^()]*$"
        if "InDelta" in text
        or "InEpsilon" in text
        or "assert_in_delta" in text
        or "closeTo" in text
        or "within" in text
        else r"(?!)",
        text,
    )
    return float(given.group(1)) if given else None
