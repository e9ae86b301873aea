"""Finds strings that look like secrets, and takes them out of text: linear time, rules as data in secrets.toml.

A block of text is first searched for all keywords of all rules at once; only the rules whose keyword occurs are tried
on it. Rules are RE2 expressions, so no input makes them slow. What is found is told by place, rule and length, never
by its value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from steelyard.formulas.secret_rules import Rule, rules
from steelyard.formulas.secret_values import compiled, decoded, entropy, is_name, is_placeholder, reads_like_code

BLOCK = 128 * 1024
OVERLAP = 4 * 1024
SHORTEST_INJECTED = 6

# What may stand right before a token although it ends in a letter or digit: escapes of JSON, URLs and terminals.
_ESCAPE_BEFORE = rb"(?:\\[nrtbf]|%[0-9A-Fa-f]{2}|(?:\x1b|u001b|x1b|033)\[[0-9;]*m)$"
# Lists of locked packages pair names with these; and what a value is called that is a key in spite of its looks.
_CHECKSUM = rb"^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$"
_KEY_WORD = rb"(?i)key|token|secret|pass|pwd?|auth|api|cred|client|access|sid|dsn"
# What is called a key or token and is none: public ones, places in a list, names of requests, of things in a store and
# of types.
_KINDS = (
    "next|page|pagination|continuation|sync|change|version|request|cancel|cancellation|idempotency|correlation|cache|"
    "partition|routing|type|object|primary|foreign|sort"
)
_HARMLESS = (
    r"::\w+[\"']\s*:|(?:[Tt]oken|[Kk]ey|TOKEN|KEY)_?(?:id|Id|ID)\b|"
    rf"(?i:public)|(?:(?:\b|_)(?i:{_KINDS})|[a-z](?:{_KINDS.title()}))[_-]?(?i:key|token)"
)

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
    found: dict[tuple[int, str], Secret] = {}
    seen = at = 0
    for span in _spans(data, most):
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
    if compiled(_HARMLESS).search(data[max(0, start - 40) : start].rpartition(b"\n")[2]):
        return False
    said = decoded(value) if rule.coded else value
    return said is not None and not reads_like_code(said) and not (rule.bare and is_name(said))


def _is_named(data: bytes, name: int, start: int, end: int) -> bool:
    """Whether a provider's name stands alone and names no variable, and next to a checksum also a word for a key."""
    if is_name(data[start:end]):
        return False
    before, first = data[max(0, name - 1) : name], data[name : name + 1]
    if before.isalpha() and (first.islower() or before.isupper()):
        return False
    return not compiled(_CHECKSUM).search(data[start:end]) or bool(compiled(_KEY_WORD).search(data[name:start]))
