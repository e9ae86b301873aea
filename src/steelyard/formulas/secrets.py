"""Finds strings that look like secrets, and takes them out of text: linear time, rules as data in secrets.toml.

A block of text is first searched for all keywords of all rules at once; only the rules whose keyword occurs are tried
on it. Rules are RE2 expressions, so no input makes them slow. What is found is told by place, rule and length, never
by its value.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

BLOCK = 128 * 1024
OVERLAP = 4 * 1024
SHORTEST_INJECTED = 6

_PLACEHOLDER = (
    rb"(?i)example|placeholder|redacted|change_?-?me|your[_-]|dummy|xxxx|\*\*\*|\.\.\.|<[^<>]*>|\$\{|\{\{|\$\(|%\("
)
# Values that are code or names rather than secrets: lookups, calls, addresses, paths, dotted or bare words.
_CODE = (
    rb"(?i)^(?:[$%@{<\[(]|env[:.]|process\.env|os\.|https?://|s3://|file:|arn:|urn:|/[a-z]|\./|\.\./|[0-9]{4}-[0-9]{2}-[0-9]{2})"
    rb"|[(){}\[\]]|^[a-z_.\-/:]+$|^(?-i:(?:(?:[a-z]+[0-9]{0,2}[a-z]*|[0-9]{1,2})[._:/-])+(?:[a-z]+[0-9]{0,2}|[0-9]{1,2}))$"
    rb"|^(?-i:[A-Z]+(?:_(?:[A-Z]+[0-9]{0,2}|[0-9]{1,4}))+)$"
)
_WORDS = (
    rb"^(?:password|passwd|passwort|pass|pwd|secret|token|test|testing|tests|sample|demo|fake|mock|foo|bar|baz|qux|"
    rb"admin|root|user|username|default|none|null|true|false|undefined|letmein|qwerty|abc|abcd|abcdef|key|api|my|your|"
    rb"the|a|is|not|an|some|new|old|access|refresh|auth|bearer|csrf|session|client|server|id|type|name|url|value|string|"
    rb"invalid|valid|wrong|right|correct|bad|good|hash|hashed|v|prod|dev|local|db|app|service|account|private|public|"
    rb"rsa|sha|hmac|md|bcrypt|utf|base|jwt|oauth|openid|x|n|m|i)*$"
)
_ASSIGNED = (
    r"(?i:{names})[A-Za-z0-9_. \t-]{{0,40}}[\"'\]]{{0,2}}[ \t]{{0,5}}(?:={{1,3}}|:{{1,3}}=?|=>|\?=|>|\|\||,)"
    r"[ \t]{{0,5}}\\?[\"'`]?({value})"
)
# What may stand right before a token although it ends in a letter or digit: escapes of JSON, URLs and terminals.
_ESCAPE_BEFORE = rb"(?:\\[nrtbf]|%[0-9A-Fa-f]{2}|(?:\x1b|u001b|x1b|033)\[[0-9;]*m)$"

Text = TypeVar("Text", str, bytes)


@dataclass(frozen=True, slots=True)
class Rule:
    """One form of secret; `grouped`: the shape proves nothing without its context, so no character of it is shown."""

    name: str
    keywords: tuple[str, ...]
    regex: str
    entropy: float = 3.0
    grouped: bool = False
    strict: bool = False
    contains: str | None = None
    coded: bool = False


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands and which rule says so; `hint` tells its public prefix at most, and its length."""

    line: int
    rule: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    rule: Rule


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, the most telling first."""
    import tomllib
    from importlib.resources import files

    table = tomllib.loads(files("steelyard.formulas").joinpath("secrets.toml").read_text("utf-8"))
    tokens = [_token_rule(name, spec) for name, spec in table["tokens"].items()]
    assigned = [_assigned_rule(name, spec) for name, spec in table["assigned"].items()]
    return (*(r for r in tokens if not r.strict), *assigned, *(r for r in tokens if r.strict))


def _token_rule(name: str, spec: dict[str, Any]) -> Rule:
    grouped = bool(spec.get("group"))
    return Rule(
        name=name,
        keywords=tuple(spec["keywords"]),
        regex=spec["regex"] if grouped else f"({spec['regex']})",
        entropy=spec["entropy"],
        grouped=grouped,
        strict=bool(spec.get("strict")),
        contains=spec.get("contains"),
        coded=bool(spec.get("coded")),
    )


def _assigned_rule(name: str, spec: dict[str, Any]) -> Rule:
    names = tuple(spec.get("names", (name,)))
    regex = _ASSIGNED.format(names="|".join(names), value=spec["value"])
    return Rule(f"{name}-assigned", names, regex, grouped=True, contains="[0-9]")


@cache
def _compiled(pattern: str | bytes) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes are characters: offsets stay byte offsets
    options.log_errors = False
    return re2.compile(pattern.encode() if isinstance(pattern, str) else pattern, options)


@cache
def _prefilter() -> tuple[Any, tuple[tuple[int, ...], ...]]:
    """One automaton for all keywords, and for each keyword the rules that it wakes."""
    import re2

    wakes: dict[str, list[int]] = {}
    for index, rule in enumerate(rules()):
        for keyword in rule.keywords:
            wakes.setdefault(keyword, []).append(index)
    options = re2.Options()
    options.case_sensitive = False
    options.literal = True
    options.encoding = re2.Options.Encoding.LATIN1
    keywords = re2.Set.SearchSet(options)
    for keyword in wakes:
        keywords.Add(keyword)
    keywords.Compile()
    return keywords, tuple(tuple(indexes) for indexes in wakes.values())


def find(lines: Sequence[tuple[int, str]]) -> list[Secret]:
    """The secrets in numbered lines (the added lines of a file), in order, each line and rule once."""
    data = "\n".join([text for _, text in lines]).encode("utf-8", "surrogatepass")
    found: dict[tuple[int, str], Secret] = {}
    seen = at = 0
    for span in _spans(data):
        seen += data.count(b"\n", at, span.start)
        at = span.start
        number = lines[min(seen, len(lines) - 1)][0]
        found.setdefault((number, span.rule.name), Secret(number, span.rule.name, _hint(data, span)))
    return list(found.values())


def _hint(data: bytes, span: _Span) -> str:
    length = f"{span.end - span.start} characters"
    if span.rule.grouped or not data[span.start : span.start + 4].isascii():
        return length
    return f"{data[span.start : span.start + 4].decode()}…, {length}"


def redact_text(text: Text, injected: Sequence[str] = ()) -> Text:
    """The text without secrets: injected values, also encoded ones, and whatever looks like a secret."""
    if isinstance(text, str):
        return _redact(text.encode("utf-8", "surrogatepass"), tuple(injected)).decode("utf-8", "surrogatepass")
    return _redact(text, tuple(injected))


def surely_clean(text: str, injected: Sequence[str] = ()) -> bool:
    """Whether redacting this text, or any whole lines of it, would change nothing; False also when it is too long."""
    data = text.encode("utf-8", "surrogatepass")
    literal = _injected_pattern(tuple(injected))
    return len(data) < BLOCK and (literal is None or literal.search(data) is None) and not _spans(data)


def _redact(data: bytes, injected: tuple[str, ...]) -> bytes:
    literal = _injected_pattern(injected)
    if literal is not None:
        data = _replace(data, [(m.start(), m.end(), b"[redacted]") for m in literal.finditer(data)])
    return _replace(data, [(s.start, s.end, f"[redacted:{s.rule.name}]".encode()) for s in _spans(data)])


def _replace(data: bytes, cuts: Sequence[tuple[int, int, bytes]]) -> bytes:
    if not cuts:
        return data
    pieces: list[bytes] = []
    at = 0
    for start, end, marker in cuts:
        pieces += (data[at:start], marker)
        at = end
    return b"".join((*pieces, data[at:]))


@cache
def _injected_pattern(injected: tuple[str, ...]) -> Any:
    import re2

    forms: set[bytes] = set()
    for value in injected:
        if len(value) >= SHORTEST_INJECTED:
            forms.update(_forms(value))
            forms.update(line.encode("utf-8", "surrogatepass") for line in value.splitlines() if len(line) >= 16)
    if not forms:
        return None
    return _compiled(b"|".join(re2.escape(form) for form in sorted(forms, key=lambda f: (-len(f), f))))


def _forms(value: str) -> Iterator[bytes]:
    """A value as it is, and as it looks in JSON, in a URL, in hex and inside base64 at any of its three offsets."""
    import base64
    import json
    from urllib.parse import quote, quote_plus

    raw = value.encode("utf-8", "surrogatepass")
    yield raw
    for inner in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        yield inner.encode("utf-8", "surrogatepass")
        yield json.dumps(inner)[1:-1].encode("utf-8", "surrogatepass")  # JSON inside JSON: a tool call in a stream
    for quoted in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield quoted.encode()
        yield _lower_escapes(quoted).encode()
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw).rstrip(b"=")
        tail = 1 if (shift + len(raw)) % 3 else 0  # the last character also carries bits of what follows
        core = coded[(0, 2, 3)[shift] : len(coded) - tail]
        yield core
        yield core.translate(bytes.maketrans(b"+/", b"-_"))


def _lower_escapes(quoted: str) -> str:
    head, *rest = quoted.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def _spans(data: bytes) -> list[_Span]:
    """Where the secrets are, in order, none overlapping: of two rules for one place the more telling one counts."""
    keywords, wakes = _prefilter()
    all_rules = rules()
    found: dict[tuple[int, int], _Span] = {}
    for start, end in _blocks(data):
        hits = keywords.Match(data[start:end])
        for index in sorted({index for hit in hits or () for index in wakes[hit]}):
            for span in _matches(data, start, end, all_rules[index]):
                known = found.setdefault((span.start, index), span)
                if span.end > known.end:
                    found[span.start, index] = span
    taken: list[_Span] = []
    for (start, _), span in sorted(found.items()):
        if not taken or start >= taken[-1].end:
            taken.append(span)
    return taken


def _blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Pieces that end at a line's end and overlap a little, so that nothing is cut in two."""
    at = 0
    while at < len(data):
        end = len(data) if at + BLOCK >= len(data) else data.rfind(b"\n", at + 1, at + BLOCK) + 1
        end = end or min(at + BLOCK, len(data))
        yield max(0, at - OVERLAP), end
        at = end


def _matches(data: bytes, start: int, end: int, rule: Rule) -> Iterator[_Span]:
    expression = _compiled(f"(?m){rule.regex}(?:[^0-9A-Za-z]|$)")
    for match in expression.finditer(data, start, end):
        left, right = match.span(1)
        if _counts(data, left, right, rule):
            yield _Span(left, right, rule)


def _counts(data: bytes, start: int, end: int, rule: Rule) -> bool:
    """Whether a match is a secret rather than a placeholder, a piece of a longer word, or code."""
    value = data[start:end]
    before = data[max(0, start - 12) : start]
    if not rule.grouped and before[-1:].isalnum() and not _compiled(_ESCAPE_BEFORE).search(before):
        return False
    if entropy(value) < rule.entropy or _compiled(_PLACEHOLDER).search(value):
        return False
    if rule.contains is not None and not _compiled(rule.contains).search(value):
        return False
    if rule.strict and b"public" in data[max(0, start - 40) : start].lower():
        return False
    return not (rule.strict and _reads_like_code(_plain(value) if rule.coded else value))


def _plain(value: bytes) -> bytes:
    """What base64 hides; the value itself where it is none."""
    import base64
    import binascii

    try:
        return base64.b64decode(value + b"=" * (-len(value) % 4))
    except binascii.Error:
        return value


def _reads_like_code(value: bytes) -> bool:
    letters = bytes(c for c in value.lower() if 97 <= c <= 122)
    return bool(_compiled(_CODE).search(value) or _compiled(_WORDS).search(letters))


def entropy(value: bytes) -> float:
    """Shannon entropy in bits a character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0
