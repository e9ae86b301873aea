"""Finds strings that look like secrets, and takes them out of text: linear time, rules as data in secrets.toml.

A block of text is first searched for all keywords of all rules at once; only the rules whose keyword occurs are tried
on it. Rules are RE2 expressions, so no input makes them slow. What is found is told by place, rule and length, never
by its value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from steelyard.formulas.secret_rules import Rule, rules
from steelyard.formulas.secret_values import (
    compiled,
    decoded,
    entropy,
    is_name,
    is_placeholder,
    is_wordy,
    letters,
    reads_like_code,
)

BLOCK = 128 * 1024
OVERLAP = 4 * 1024
SHORTEST_INJECTED = 6
SHORTEST_CUT = 300
"""A text of fewer characters was never cut off anywhere."""
_PIECE = 8

# What may stand right before a token although it ends in a letter or digit: escapes of JSON, URLs and terminals.
_ESCAPE_BEFORE = rb"(?:\\[nrtbf]|%[0-9A-Fa-f]{2}|(?:\x1b|u001b|x1b|033)\[[0-9;]*m)$"
# Lists of locked packages pair names with these; and what a value is called that is a key in spite of its looks.
_CHECKSUM = (
    rb"^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}|"
    rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$"
)
_KEY_WORD = rb"(?i)key|token|secret|pass|pwd?|auth|api|cred|client|access|sid|dsn"
# The address of a picture, as badges have it: everybody sees the token in it.
_PICTURE = rb"(?:!\[[^\]]{0,80}\]\([^)\s]*|image::[ \t]*\S*|<img [^>]*|\.(?:svg|png)\?[^\s\"']*)$"
# What is called a key or token and is none: public ones, places in a list, names of requests, of things in a store and
# of types.
_KINDS = (
    "next|page|pagination|continuation|sync|change|version|request|cancel|cancellation|idempotency|correlation|cached?|"
    "partition|routing|type|object|primary|foreign|sort|resource|surrogate|derived|expected"
)
# The last word of a name says what stands there: where a secret is, of which kind, or what is told of it.
_TOLD = (
    "path|file|files|dir|ref|reference|type|kind|name|names|url|uri|endpoint|header|field|column|prefix|suffix|version|"
    "count|limit|length|size|expiry|expires|format|class|model|regex|pattern|label|title|hint|text|message|error|"
    "description|placeholder|algorithm|alg|enc|address|arn|checksum|digest|hash|fingerprint|sha|sha1|sha256|md5|policy|"
    "icon|tag|data|serial|number"
)
_HARMLESS = (
    r"::\w+[\"']\s*:|(?:[Tt]oken|[Kk]ey|TOKEN|KEY)_?(?:id|Id|ID)\b|(?:[Ss]ecrets?|[Cc]redentials?)(?:ID|Id\b)|"
    r"(?i:key|token|secret|passw(?:or)?d|pwd|passphrase|credential)s?(?:_[a-z]+){0,3}"
    rf"(?:[_.-](?i:{_TOLD})|(?:{_TOLD.title()}))"
    r"[\"'\])]{0,3}[ \t]*[^A-Za-z0-9_.\]-][^A-Za-z0-9_]*$|"
    rf"(?i:public)|(?:(?:\b|_)(?i:{_KINDS})|[a-z](?:{_KINDS.title()}))[_-]?(?i:key|token)"
)

# A name right before its value, and how long it must be for its letters to mean something in a value.
_CALLED = rb"^.*?([A-Za-z][A-Za-z_-]*)[^A-Za-z]*$"
_TELLING = 9
_PACKED = 150
# What stands between the words of a name.
_SEPARATORS = frozenset(b"_-.:")

Text = TypeVar("Text", str, bytes)


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


def find(lines: Sequence[tuple[int, str]], most: int | None = None) -> list[Secret]:
    """The secrets in numbered lines (the added lines of a file), in order, each line and rule once.

    With `most`, what follows is no longer looked at once so many, or a few more, were found.
    """
    data = "\n".join([text for _, text in lines]).encode("utf-8", "surrogatepass")
    return [replace(one, line=lines[min(one.line, len(lines)) - 1][0]) for one in find_in(data, most)]


def find_in(data: bytes, most: int | None = None) -> list[Secret]:
    """The same in a whole file."""
    found: dict[tuple[int, str], Secret] = {}
    number, at = 1, 0
    for span in _spans(data, most):
        number += data.count(b"\n", at, span.start)
        at = span.start
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


def is_cut_inside(text: str, injected: Sequence[str]) -> bool:
    """Whether a text begins or ends inside an injected value, because only a part of what was there was kept."""
    return bool(injected) and _edges(text.encode("utf-8", "surrogatepass"), tuple(injected)) != (0, 0)


def _edges(data: bytes, injected: tuple[str, ...]) -> tuple[int, int]:
    """How many bytes at the start, and at the end, are a piece of an injected value."""
    if len(data) < SHORTEST_CUT:
        return 0, 0
    head, tail = data[:_PIECE], data[-_PIECE:]
    first = last = 0
    for value in _whole_forms(injected):
        if data in value:
            return len(data), 0
        at = value.find(head, 1)
        while at > 0:
            if data.startswith(value[at:]):
                first = max(first, len(value) - at)
            at = value.find(head, at + 1)
        at = value.find(tail, 0, len(value) - 1)
        while at >= 0:
            if data.endswith(value[: at + _PIECE]):
                last = max(last, at + _PIECE)
            at = value.find(tail, at + 1, len(value) - 1)
    return first, min(last, len(data) - first)


@cache
def _whole_forms(injected: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple({form for value in injected if len(value) >= SHORTEST_INJECTED for form in _forms(value)})


def _redact(data: bytes, injected: tuple[str, ...]) -> bytes:
    literal = _injected_pattern(injected)
    if literal is not None:
        data = _replace(data, [(m.start(), m.end(), b"[redacted]") for m in literal.finditer(data)])
        first, last = _edges(data, injected)
        data = b"[redacted]" * (first > 0) + data[first : len(data) - last] + b"[redacted]" * (last > 0)
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
            lines = value.splitlines()
            forms.update(line.encode("utf-8", "surrogatepass") for line in lines if len(line) >= 16)
            for sign in "+- " if len(lines) > 1 else "":  # as a patch shows it
                forms.add(f"\n{sign}".join(lines).encode("utf-8", "surrogatepass"))
    if not forms:
        return None
    return compiled(b"|".join(re2.escape(form) for form in sorted(forms, key=lambda f: (-len(f), f))))


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


def _spans(data: bytes, most: int | None = None) -> list[_Span]:
    """Where the secrets are, in order, none overlapping: of two rules for one place the more telling one counts."""
    keywords, wakes = _prefilter()
    all_rules = rules()
    found: dict[tuple[int, int], _Span] = {}
    for start, end in _blocks(data):
        hits = keywords.Match(data[start:end])
        for index in sorted({index for hit in hits or () for index in wakes[hit]}):
            for span in _matches(data, start, end, all_rules[index], once=most is not None):
                known = found.setdefault((span.start, index), span)
                if span.end > known.end:
                    found[span.start, index] = span
        if most is not None and len(found) > most:
            break
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


def _matches(data: bytes, start: int, end: int, rule: Rule, *, once: bool = False) -> Iterator[_Span]:
    """The secrets of one rule; `once`: of every line the first."""
    expression = compiled(f"(?m){rule.regex}" if rule.ended else f"(?m){rule.regex}(?:[^0-9A-Za-z]|$)")
    after = start
    for match in expression.finditer(data, start, end):
        left, right = match.span(1)
        if left < after:
            continue
        if _counts(data, left, right, rule) and (not rule.provider or _is_named(data, match.start(), left, right)):
            yield _Span(left, right, rule)
            if once:
                line_end = data.find(b"\n", right, end)
                after = line_end if line_end >= 0 else end


def _counts(data: bytes, start: int, end: int, rule: Rule) -> bool:
    """Whether a match is a secret rather than a placeholder, a piece of a longer word, or code."""
    value = data[start:end]
    before = data[max(0, start - 12) : start]
    if not rule.grouped and before[-1:].isalnum() and not compiled(_ESCAPE_BEFORE).search(before):
        return False
    if entropy(value) < rule.entropy or is_placeholder(value):
        return False
    if rule.contains is not None and not compiled(rule.contains).search(value):
        return False
    if not rule.strict:
        return True
    line = data[max(0, start - 200) : start].rpartition(b"\n")[2]
    if rule.prose and len(line) >= _PACKED and b" " not in line:
        return False
    name = line[-40:]
    if compiled(_HARMLESS).search(name) or compiled(_PICTURE).search(line) or (rule.bare and _repeats(name, value)):
        return False
    said = decoded(value) if rule.coded else value
    if said is None or reads_like_code(said):
        return False
    return not (rule.bare or _SEPARATORS & set(said)) or not (is_name(said) or is_wordy(said))


def _repeats(name: bytes, value: bytes) -> bool:
    """Whether a value says its own name, as in `session_token = "SessionToken_2"`."""
    said = letters(value)
    if 2 * len(said) >= len(value) and said in letters(name) and value.translate(None, b"_-").isalnum():
        return True
    called = letters(compiled(_CALLED).sub(rb"\1", name))
    return len(called) >= _TELLING and called in said


def _is_named(data: bytes, name: int, start: int, end: int) -> bool:
    """Whether a provider's name stands alone and names no variable, and next to a checksum also a word for a key."""
    if is_name(data[start:end]):
        return False
    before, first = data[max(0, name - 1) : name], data[name : name + 1]
    if before.isalpha() and (first.islower() or before.isupper()):
        return False
    return not compiled(_CHECKSUM).search(data[start:end]) or bool(compiled(_KEY_WORD).search(data[name:start]))
