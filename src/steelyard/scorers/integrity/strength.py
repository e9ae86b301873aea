"""How much a check of any language pins down, judged by the text of its statement."""

import re
from functools import lru_cache

from steelyard.scorers.integrity.conditions import always, is_literal
from steelyard.scorers.integrity.model import EXACT, NOTHING, PARTIAL, PRESENCE

CACHED = 4096  # most checks of a changed test stand on both sides
_PRESENCE = re.compile(
    r"\b(?:toBeDefined|toBeTruthy|not\.toBeNull|not\.toBeUndefined|not\.toBeFalsy|not\.toBeNil|toBeInTheDocument"
    r"|NotNil|NotZero|assertNotNull|assertIsNotNull|IsNotNull|NotNull|NotBeNull|ShouldNotBeNull|ShouldNotBeEmpty"
    r"|isNotNull|isNotEmpty|notNullValue|isPresent|shouldNotBeNull|refute_nil|assert_not_nil|refute_empty|be_present"
    r"|be_truthy|not_to be_nil|to_not be_nil|be_a_kind_of|must_be_kind_of|truthy"
    r"|assert\.ok|assert\.exists|assert\.isDefined"
    r"|assert\.isOk|exist|not\.undefined|not\.null|DoesNotThrow|doesNotThrow|not\.toThrow|assertDoesNotThrow|NotEmpty"
    r"|NotPanics|Is\.Not\.Null|Is\.Not\.Empty|to\.be\.ok|not\.be\.(?:undefined|null)|assert_respond_to|respond_to"
    r"|toHaveBeenCalled\(\)|toBeCalled\(\)|toThrow(?:Error)?\(\)|to\.throw(?:Error)?\(\)|called\b)"
    r"|\b(?:toEqual|toBe|toStrictEqual)\(expect\.anything\(\)\)|\)\.(?:to|not_to) be;?$|\braise_error$"
    r"|\b(?:assertThrows|expectThrows|Throws\w*|Catch)(?:\(|<)(?:Throwable|Exception|System\.Exception)\b|\.Catch\("
    r"|\bassert_raises?\(?\s*(?:StandardError|Exception)?\)?\s*(?:\{|do\b|$)"
    r"|\b(?:NotEqual|AreNotEqual|notEqual|notStrictEqual|EqualTo|not\.toBe|not\.toEqual|not\.equal|refute_equal)"
    r"[ (]\s*(?:\w{1,3},\s*)?(?:null|nil|undefined)\b"
    r"|\bassertNotSame\(\s*null\b"
    r"|\b(?:[nN]otEqual|notStrictEqual|t\.not|[nN]otSame)"
    r"\([^()]*(?:\([^()]*\)[^()]*)?,\s*(?:null|nil|undefined)\b|\bnot_to eq\(?\s*nil"
    r"|\.nil\?\)\.to (?:be|eq)\(?\s*\(?false|!==? ?undefined\)\.toBe\(true|expect\(!!.*\)\.toBe\(true"
)
_PARTIAL = re.compile(
    r"(?:\b(?:toContain\w*|toMatch(?!InlineSnapshot|Snapshot|FileSnapshot)\w*|toBe(?:Greater|Less)\w*|toBeCloseTo"
    r"|toBeInstanceOf|toHaveProperty|toStartWith|toEndWith|arrayContaining|objectContaining|stringContaining|expect\.any"
    r"|anything|\w*Contains\w*|contains(?!Exactly)\w*|is(?:Less|Greater)Than\w*|isAt(?:Least|Most)|isBetween|isCloseTo|Subset|Greater\w*|Less\w*|InDelta|InEpsilon|Regexp|NotEqual\w*|assertNotEquals"
    r"|startsWith|endsWith|containsString|instanceOf|isInstanceOf|assert_includes?|assert_match|assert_operator"
    r"|assert_in_delta|assert_kind_of|be_a|be_an|be_kind_of|include|match|be_within|assert_ne|ErrorContains"
    r"|StartsWith|EndsWith|IsType|IsAssignableFrom|ShouldContain|ShouldMatch|shouldContain|closeTo|notEqual|like"
    r"|to\.be\.an?|refute_equal|assert_not_equal|not_to|to_not|Is\.Not|AreNotEqual|NotBe|InstanceOf|IsInstanceOf\w*|AssignableTo"
    r"|assert_instance_of|notStrictEqual|notDeep\w{0,6}Equal|assertNotSame|satisf(?:y|ies)|toSatisfy|oneOf|isIn|isOneOf|hasSameSizeAs|BeOneOf|AnyOf)\b"
    r"|toMatch(?:Inline)?Snapshot\(\)|not\.to|\.not\.|\.Or\.|\)\.or |[<>]=?(?!\w*>))"
)
_TRUTH = re.compile(
    r"^(?:assert|t\.truthy|t\.ok|assert\.ok|(?P<typed>assert!|debug_assert!|assert\.isTrue|\w*\.?assertTrue"
    r"|Assert\.(?:True|IsTrue)|Assert\.That(?=\([^,]*\);?$)|(?:assert|require)\.True[Tf]*|t\.true|assert_true))[ (]"
)
_UNTRUTH = re.compile(r"^(?:refute|(?:\w+\.)?(?:assertFalse|False|IsFalse|isFalse|assert_false|notOk|falsy))[ (]")
_THERE = re.compile(r"!==? ?(?:null|nil|undefined)\b|is not null|!\S+\.nil\?|(?<!assert)![^=]*\bis_(?:none|empty)\(\)")
_MISSING = re.compile(r"(?:===?|is) ?(?:null|nil|undefined)\b|\.nil\?|is_none\(\)|isNull\(\)")
_OPEN = re.compile(r"[<>]|!=|contains|matches|starts_with|&&|\|\||instanceof|is_(?:some|ok|err)\b|isPresent| is ")
_CHOSEN = re.compile(r"\]\s*\.(?:some|any|includes?|contains|Any|Contains|include\?|any\?)[ (]|\bany(?:Match|Of)\(")
_BARE_MATCHER = re.compile(
    r"(?:\.\w+)*\.(?:to(?:Be|Equal|StrictEqual|Match|Contain|Have|Throw)\w*|equals?|eql?|includes?|contains?|match|above|below"
    r"|least|most|property|lengthOf|instanceof|satisfy|throw)\s*;?\s*"
)
_SPOKEN = re.compile(
    r"(?P<a>.+?)(?:\.should ?(?:==|eq[ (]|eql[ (]|equal[ (]|be[ (]) ?|\.should\.(?:deep\.)?(?:equal|eql|eq)s?\("
    r"|\.(?:must_equal|must_be_same_as)[ (]|\.Should\(\)\.(?:Be|Equal|BeEquivalentTo)\(|\.ShouldBe\(| shouldBe )"
    r"(?P<b>.+?)\)?;?$"
)
_OR_TRUE = re.compile(r"(?:\|\||\bor)\s*(?:true|1)\s*(?:[),;]|$)")
_ALWAYS = re.compile(
    r"matches!\([^,]+(?:\([^()]*\))?, _\)"
    r"|^Assert\.Pass\("
)
_PAIR = re.compile(
    r"^(?:await\s+)?expect\s*\((?P<a>[^()]{1,120}(?:\([^()]*\))?)\)\s*\.\s*(?:to\w*|to\.\w+(?:\.\w+)?|to)\s*[ (]\s*"
    r"(?:eq\s*[ (]\s*)?(?P<b>[^()]{1,120}?(?:\([^()]*\))?)\)*;?$"
)
_EQUALS = re.compile(
    r"(?:[eE]quals?|assert_eq!|assertSame|Same|[sS]trictEqual|assert_equal|\.is|AreEqual|AreSame|same|isEqualTo)$"
)
_HOLDS = re.compile(
    r"^(?:\w+\.)*(?:assertTrue|assert!|assert|isTrue|IsTrue|True|Truef|ok|truthy|true|pass|assert_true|isOk|That)$"
)
_FAILS = re.compile(r"^(?:\w+\.)*(?:assertFalse|IsFalse|False|falsy|refute|isFalse|notOk|assert_false)$")
_NULL = re.compile(r"^(?:\w+\.)*(?:assertNull|Null|IsNull|Nil|isNull|assert_nil|NoError)$")
_NOT_NULL = re.compile(r"^(?:\w+\.)*(?:assertNotNull|NotNull|IsNotNull|NotNil|isNotNull|refute_nil|assert_not_nil)$")
_MATCHER = re.compile(r"(?:\s*\.\s*(?:to|be|not|been|and|is|deep|have))*\s*;?\s*")
_MEASURED = re.compile(
    r"(?:len|type|typeof|reflect\.TypeOf|cap|count|sizeof)\((?P<a>.+)\)|typeof (?P<b>.+)"
    r"|(?P<c>.+)\.(?:length|size|Length|Count|count|len|getClass|GetType|class|LongLength)(?:\(\))?"
)
_BETWEEN = re.compile(
    r"[=!<>]=+|[<>]|&&|\|\||\.equals\(|\.nil\?|\bis (?:not )?null\b|\binstanceof\b|^\(\w+\) (?=\S)|^!(?=\w)"
)
_NUMBER = r"(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)"


@lru_cache(maxsize=16)  # several rules ask for those of one statement, one after the other
def arguments(text: str) -> tuple[str, ...]:
    """The arguments of the first call in a statement, split at its top-level commas."""
    start = text.find("(")
    command = re.match(r"(?:\w+\.)?(?:assert|refute|flunk)\w*[!?]?[ \t]+(?![ \t(=.])", text)
    if command is not None:  # a call without brackets
        text, start = f"{text[: command.end()]}({text[command.end() :]})", command.end()
    if start < 0:
        return ()
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
    return tuple(part.strip() for part in parts if part.strip())


@lru_cache(maxsize=CACHED)
def strength_of(text: str) -> int:
    """The strength of a check by its text."""
    said = " ".join(text.split())
    asked = re.match(r"if (.*?) \{ ", said)
    if asked is not None:
        return _asked(asked[1])
    if _is_empty(said):
        return NOTHING
    goes_on = "ShouldNotBeNull()." in said and ".ShouldBe(" in said  # what is there is looked at too
    if _PRESENCE.search(said) and not _TRUTH.match(said) and not goes_on:
        return PRESENCE
    pair = compared(said)
    if pair is not None and pair[0] == pair[1]:
        return PARTIAL  # `f() == f()` says that it says the same twice, and no more
    if pair is not None and _is_wide(said, pair):
        return PARTIAL
    if _TRUTH.match(said):
        return _told(said)
    if _UNTRUTH.match(said) and _MISSING.search(said):
        return PRESENCE
    return PARTIAL if _PARTIAL.search(_unstrung(said)) else EXACT


def _told(said: str) -> int:
    """What a check of a mere condition pins down."""
    truth = _TRUTH.match(said)
    if _THERE.search(said) and "&&" not in said:
        return PRESENCE
    if re.match(r"[\w.!]+[ (]\s*!\w[\w.]*\W*$", said):
        return EXACT  # what is false is pinned down
    if _CHOSEN.search(said):
        return PARTIAL
    if "||" not in said and ("==" in said or ".equals(" in said or "eq?" in said):
        return EXACT
    if _OPEN.search(said) or _PARTIAL.search(_unstrung(said)):
        return PARTIAL
    # Where a value has a type, what is true is pinned down; elsewhere it is merely there.
    return EXACT if truth is not None and truth["typed"] and not _PRESENCE.search(said) else PRESENCE


def _asked(asked: str) -> int:
    """What a condition under which a test fails pins down."""
    if always(asked) is False:
        return NOTHING
    if re.fullmatch(r"&?[\w.\[\]]+ == nil", asked):  # an error that is wanted says as much as one that is not
        return EXACT if re.match(r"\w*[eE]rr\b", asked) else PRESENCE
    parts = re.fullmatch(r"(.+) != (.+)", asked)
    if "&&" in asked or (parts is not None and parts[1] == parts[2]):
        return PARTIAL
    return PARTIAL if re.search(r"==|[<>]|Contains|Prefix|Suffix|Match", asked) and "||" not in asked else EXACT


def _is_wide(said: str, pair: tuple[str, str]) -> bool:
    """Whether a number may differ by more than itself."""
    numbers = [float(part) for part in pair if re.fullmatch(rf"-?{_NUMBER}", part)]
    given = arguments(said)
    wide = re.search(rf"\.Within\(({_NUMBER})\)", said) or re.fullmatch(
        rf"({_NUMBER})[fFdD]?", given[-1] if len(given) > 2 else ""
    )
    return bool(numbers) and wide is not None and float(wide[1]) > max(1.0, abs(numbers[0]))


@lru_cache(maxsize=CACHED)
def compared(text: str) -> tuple[str, str] | None:
    """The two values that a check says are equal."""
    said = " ".join(text.split())
    pair = _PAIR.match(said)
    if pair is not None:
        return pair["a"].strip(), pair["b"].strip()
    that = re.match(r"Assert\.That ?\((.*), Is\.EqualTo ?\((.*?)\)(?:\.Within\(.*\))?\);?$", said)
    if that is not None:
        return that[1].strip(), that[2].strip()
    fluent = re.match(r"assertThat\((.*)\)\.is(?:EqualTo|SameAs)\((.*)\);?$", said)
    if fluent is not None:
        return fluent[1].strip(), fluent[2].strip()
    asked = re.match(r"if (.*) != (.*?) \{ ", said)
    if asked is not None:
        return asked[1].strip(), asked[2].strip()
    spoken = re.match(r"expect\((.*)\)\.to (?:eq|eql|be|equal)[ (](?![<>=])(.*?)\)?$", said)
    bracketed = said[-1:] == ")" and not re.search(r"\)\.to \w+\(", said)
    if spoken is not None and spoken[2].count("(") == spoken[2].count(")") + bracketed:
        return spoken[1].strip(), spoken[2].strip()
    expected = _expected(said) if said.startswith(("expect(", "await expect(")) else None
    if expected is not None:
        return expected
    worded = _SPOKEN.match(said) if "hould" in said or ".must_" in said else None
    if worded is not None:
        a, b = worded["a"].strip(), worded["b"].strip()
        return a, b + ")" * max(0, min(1, b.count("(") - b.count(")")))
    if _EQUALS.search(re.split(r"[ (]", said, maxsplit=1)[0]):
        given = _given(said)
        return (given[0], given[1]) if len(given) >= 2 else None
    return None


def _expected(said: str) -> tuple[str, str] | None:
    """Both sides of `expect(a).toBe(b)`, whatever brackets stand in them."""
    end = _end(said)
    matcher = (
        None
        if end is None
        else re.compile(
            r"(?: ?\.(?:to|be|deep|resolves|rejects)\b)*+ ?\.(?:toBe|toEqual|toStrictEqual|equals?|eql?)(?=\()"
        ).match(said, end)
    )
    given, wanted = arguments(said), () if matcher is None else arguments(said[matcher.end() :])
    return (given[0], wanted[0]) if len(given) == 1 and len(wanted) == 1 else None


def _given(said: str) -> tuple[str, ...]:
    given = arguments(said)
    go = len(given) > 1 and given[0] in {"t", "s.T()", "tt", "c"} and re.match(r"[a-z]\w*\.[A-Z]", said)
    return given[1:] if go else given


@lru_cache(maxsize=CACHED)
def parts_of(text: str) -> tuple[str, ...]:
    """The values of which a check looks at the length or the type only."""
    said = " ".join(text.split())
    asked = re.match(r"if (.*?) \{ ", said)
    sides = [*(compared(said) or ()), *(re.split(r" [!=<>]=? ", asked[1]) if asked else ()), *_given(said)[:2]]
    found = [match for side in sides if (match := _MEASURED.fullmatch(side)) is not None]
    chosen = re.match(r"expect\(\[(.*)\]\)\.toContain\((.*)\);?$", said) or re.match(
        r"\w+\.ok\(\[(.*)\]\.includes\((.*)\)\);?$", said
    )
    inner = [next(part for part in match.groups() if part) for match in found]
    return tuple(dict.fromkeys([*inner, *([chosen[2]] if chosen else [])]))


def _unstrung(said: str) -> str:
    return re.sub(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|->|=>|<\w[\w<>, ]*>\(", '""', said)


def _is_empty(said: str) -> bool:
    """Whether a check holds whatever the code under test does."""
    if _ALWAYS.search(said) or (("||" in said or "or" in said) and _OR_TRUE.search(said)):
        return True
    if re.match(r"(?:await )?expect ?\(", said):
        return _expects_nothing(said)
    pair = compared(said)
    if pair is not None:
        return _same(*pair)
    name, given = re.split(r"[ (]", said, maxsplit=1)[0], _given(said)
    if not given:
        return False
    literal = is_literal(given[0])
    if re.search(r"(?:assert_ne!|[nN]otEquals?|refute_equal)$", name) and len(given) > 1:
        return literal and is_literal(given[1]) and given[0] != given[1]
    if _HOLDS.match(name) and (len(given) == 1 or given[1][:1] in "\"'`" or re.match(r"Is\.True|\$?@?\"", given[1])):
        return always(given[0]) is True or (given[0] in {"[]", "{}"})
    if _FAILS.match(name):
        return always(given[0]) is False
    if _NULL.match(name):
        return given[0] in {"null", "nil", "undefined"}
    if _NOT_NULL.match(name):
        return (literal and given[-1] not in {"null", "nil", "undefined"} and len(given) == 1) or bool(
            re.fullmatch(r"new \w+\(\)", given[0])
        )
    return False


def _expects_nothing(said: str) -> bool:
    """`expect(x)` without a matcher, or of a value that stands there as it is."""
    given = arguments(said)
    end = _end(said)
    if end is None or len(given) != 1:
        return False
    rest = said[end:]
    if _MATCHER.fullmatch(rest) or _BARE_MATCHER.fullmatch(rest):
        return True
    pair = compared(said)
    if pair is not None and _same(*pair):
        return True
    if not is_literal(given[0]):
        return False
    inner = re.fullmatch(r"[\w. ]*(?:\((.*?)\)*)?;?| ?\.?to \w+[ (]?(.*?)\)?", rest)
    return inner is not None and all(not part or is_literal(part.strip("() ")) for part in inner.groups())


def _end(said: str) -> int | None:
    """Where the first bracket of a text is closed."""
    depth = 0
    for match in re.finditer(r"\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?|`[^`]*`?|[()\[\]{}]", said):
        depth += (match.group() in "([{") - (match.group() in ")]}")
        if depth == 0 and match.group() in ")]}":
            return match.end()
    return None


def _same(a: str, b: str) -> bool:
    """Whether two operands are one and the same; calls may differ each time they are made."""
    return a.strip() == b.strip() and ("(" not in a or a.strip() == "()")


@lru_cache(maxsize=CACHED)
def counted(text: str) -> int:
    """Whether a check can fail at all by its text; how much it pins down is asked for only where it changed."""
    return NOTHING if _is_empty(" ".join(text.split())) else EXACT


@lru_cache(maxsize=CACHED)
def subjects_of(text: str) -> tuple[str, ...]:
    """The values a check looks at: its first arguments that are no plain literals."""
    said = " ".join(text.split())
    asked = re.match(r"if (.*?) \{ ", said)
    given = (asked[1],) if asked else _given(said)[:3]
    found = [part for part in given if not re.fullmatch(rf"[-!]?{_NUMBER}|\".*\"|'.*'|true|false|null|nil", part)]
    if re.search(
        r"\b(?:assertThrows|expectThrows|Throws\w*|assert_raises?|raise_error|toThrow\w*|throws|Catch)\b", said
    ):
        found.append("raises")
    sides = [_unbracketed(side.strip()) for part in found for side in _BETWEEN.split(part)]
    return tuple(
        dict.fromkeys(
            part[:200] for part in (*found, *sides) if part.isalpha() or (len(part) > 1 and not part.isdigit())
        )
    )


def _unbracketed(side: str) -> str:
    """Without a bracket that the other side closes or opened."""
    if side.count("(") > side.count(")"):
        return side.removeprefix("(")
    return side.removesuffix(")") if side.count("(") < side.count(")") else side


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
