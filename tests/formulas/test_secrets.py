import base64
import json
import random
import re
from collections.abc import Callable
from re import _parser  # the tree of an expression has no public name
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.formulas.secret_rules import Rule, rules
from steelyard.formulas.secret_values import entropy
from steelyard.formulas.secrets import BLOCK, find, is_cut_inside, redact_text
from tests.formulas.secret_lines import ORDINARY, SECRET

STEADY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
TOKEN = "ghp" + "_" + "9aKx72LmQ0ZtRw4YbN81cVfGh3UeJp5sDi6o"
PEM = "\n".join(
    [
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        *(base64.b64encode(random.Random(n).randbytes(48)).decode() for n in range(20)),
        "-----END RSA " + "PRIVATE KEY-----",
    ]
)


def drawn(pattern: Any, source: random.Random) -> str:
    """A text that matches a parsed expression."""
    out = []
    for op, value in pattern:
        name = str(op)
        if name == "LITERAL":
            out.append(chr(value))
        elif name == "NOT_LITERAL":
            out.append(source.choice([c for c in "abcXYZ019" if ord(c) != value]))
        elif name == "IN":
            out.append(chr(source.choice(_members(value))))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, inner = value
            out += [drawn(inner, source) for _ in range(source.randint(low, min(high, low + 8)))]
        elif name == "SUBPATTERN":
            out.append(drawn(value[3], source))
        elif name == "BRANCH":
            out.append(drawn(source.choice(value[1]), source))
        elif name != "AT":
            raise NotImplementedError(name)
    return "".join(out)


def _members(items: Any) -> list[int]:
    """Characters of a class; of a negated one, letters and digits that it allows, so that texts stay plain."""
    found: list[int] = []
    for op, value in items:
        if str(op) == "LITERAL":
            found.append(value)
        elif str(op) == "RANGE":
            found += range(value[0], value[1] + 1)
        elif str(op) == "CATEGORY":
            found += [ord(" ")] if "SPACE" in str(value) else list(range(48, 58))
    if str(items[0][0]) == "NEGATE":
        return [c for c in b"abcdefghijkmnpqrstuvwyzABCDEFGHJKLMNPQRSTUVWYZ23456789=-" if c not in found]
    return found


def example(rule: Rule, seed: int) -> str:
    """A text with a secret of that rule which is no placeholder by chance."""
    if rule.name == "private-key":
        return PEM
    source = random.Random(f"{rule.name} {seed}")
    pattern = _parser.parse(re.sub(r"\(\?-?i:", "(?:", rule.regex))
    placeholder = re.compile(r"(?i)example|xxxx|\*\*\*|\.\.\.|your[_-]|dummy|<")
    for _ in range(400):
        text = drawn(pattern, source)
        if rule.provider:  # next to what may be a checksum, a provider's name alone says nothing
            text = re.sub(f"^({'|'.join(rule.keywords)})", r"\1_key", text, flags=re.IGNORECASE)
        match = re.search(rule.regex, text, re.MULTILINE)
        value = match.group(1).encode() if match else b""
        fits = rule.contains is None or re.search(rule.contains, value.decode())
        if value and fits and entropy(value) >= rule.entropy and not placeholder.search(value.decode()):
            return text
    raise AssertionError(f"no example of {rule.name} could be drawn")


def test_there_is_a_rule_for_many_providers() -> None:
    """The table is broad, its names are unique and its keywords are lower case, as the prefilter needs them."""
    names = [rule.name for rule in rules()]
    assert len(names) == len(set(names)) > 250
    assert all(keyword == keyword.lower() and keyword for rule in rules() for keyword in rule.keywords)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_every_rule_finds_what_it_describes(rule: Rule) -> None:
    """Tokens drawn from a rule's own expression wake it by keyword and are found, alone and amid code."""
    for seed in range(3):
        text = example(rule, seed)
        assert any(keyword in text.lower() for keyword in rule.keywords), text
        if rule.strict:
            continue  # words and code are dropped on purpose; their examples are below
        assert find([(1, text)]), text
        assert [secret.line for secret in find([(6, "x = 1"), (7, text), (8, "y")])][:1] == [7]


def as_lines(text: str) -> list[tuple[int, str]]:
    """Numbered lines, as a diff adds them."""
    return list(enumerate(text.split("\n"), 1))


@pytest.mark.parametrize("line", SECRET)
def test_secrets_without_a_form_of_their_own(line: str) -> None:
    """Passwords, connection strings, headers and assignments are found by where they stand."""
    assert find(as_lines(line))


@pytest.mark.parametrize("line", ORDINARY)
def test_what_is_no_secret_is_left_alone(line: str) -> None:
    """Placeholders, lookups, addresses, hashes and words are no secrets."""
    assert find(as_lines(line)) == []


def test_packed_data_tells_no_password() -> None:
    """Where no blank comes for long nobody tells a password, even if the letters for one stand there."""
    told = "Pw:5pZhNvjBp.woe_g5u-r4JwF!%DtO3 "
    assert find([(1, f"the {told}")])
    assert find([(1, "x@3p/" * 40 + told)]) == []


def test_a_token_amid_a_longer_word_is_none() -> None:
    """Something that goes on before or after is another thing."""
    assert find([(1, "abc" + TOKEN)]) == []
    assert find([(1, TOKEN + "abc")]) == []
    assert find([(1, "_" + TOKEN)])


@pytest.mark.parametrize("before", ["\\n", "\\t", "%20", "\x1b[31m", "\\u001b[0;1m", '\\"', "="])
def test_escapes_do_not_hide_a_token(before: str) -> None:
    """In JSON, URLs and coloured output a token may follow a letter that belongs to an escape."""
    assert find([(1, f"x{before}{TOKEN}")])


def test_a_private_key_over_many_lines_is_found_at_its_first() -> None:
    """The key is one secret, at the line where it begins."""
    lines = list(enumerate(["a", *PEM.split("\n"), "b"], 10))
    assert [(secret.line, secret.rule) for secret in find(lines)] == [(11, "private-key")]
    assert redact_text(f"a\n{PEM}\nb") == "a\n[redacted:private-key]\nb"


def test_line_numbers_are_those_given() -> None:
    """Added lines are not neighbours: each keeps its own number."""
    found = find([(3, "a"), (40, f"x={TOKEN}"), (41, ""), (90, f"y={TOKEN[:-1]}Z")])
    assert [secret.line for secret in found] == [40, 90]


@pytest.mark.parametrize("at", [BLOCK - 60, BLOCK - 20, BLOCK - 1, BLOCK, 2 * BLOCK - 10])
def test_a_secret_at_the_edge_of_a_block_is_found(at: int) -> None:
    """Text is searched in blocks; nothing is lost between them, with or without line ends."""
    for filler in ("." * at, ("." * 79 + "\n") * (at // 80) + "." * (at % 80)):
        text = f"{filler} {TOKEN} {filler}"
        assert redact_text(text) == f"{filler} [redacted:github-personal-token] {filler}"


def test_bytes_that_are_no_text_survive() -> None:
    """Redaction changes the secret and no other byte."""
    noise = bytes(range(256))
    assert redact_text(noise + b" " + TOKEN.encode() + b" " + noise) == (
        noise + b" [redacted:github-personal-token] " + noise
    )


@pytest.mark.parametrize("value", ["hunter2!", 'with "quotes"\nand\\more', "pässwörd/§?=&", "abcdefghijklm"])
@pytest.mark.parametrize(
    "shape", ["plain", "json", "json in json", "url", "hex", "base64", "base64 shifted", "url base64"]
)
def test_injected_values_go_in_every_shape(value: str, shape: str) -> None:
    """A key that was given to the agent is taken out however the agent wrote it down."""
    raw = value.encode()
    written = {
        "plain": value,
        "json": json.dumps(value),
        "json in json": json.dumps(json.dumps(value)),
        "url": quote(value, safe=""),
        "hex": raw.hex(),
        "base64": base64.b64encode(raw).decode(),
        "base64 shifted": base64.b64encode(b"user:" + raw + b":x").decode(),
        "url base64": base64.urlsafe_b64encode(b"u" + raw).decode(),
    }[shape]
    cleaned = redact_text(f"before {written} after", (value,))
    assert "[redacted]" in cleaned
    assert written not in cleaned
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")


@pytest.mark.parametrize("left", [61, 40, 8])
@pytest.mark.parametrize("write", [str, lambda value: json.dumps(value)[1:-1], lambda value: value.encode().hex()])
def test_a_piece_of_an_injected_value_at_an_edge_goes(write: Callable[[str], str], left: int) -> None:
    """Where only the end of an output was kept, the cut may go through a key; so may the end of a head."""
    value = 'Zq8"' + "kP3vXr7Lw2" * 5 + "tail9876"
    written = write(value)
    text = written[-left:] + " and more " * 40 + written[:left]

    assert redact_text(text, (value,)) == "[redacted]" + " and more " * 40 + "[redacted]"
    assert is_cut_inside(text, (value,))
    assert not is_cut_inside(" and more " * 40, (value,))
    assert redact_text(value + "x" * 400, (value,)) == "[redacted]" + "x" * 400


def test_a_text_that_is_all_inside_an_injected_value_goes() -> None:
    """A long key may be longer than what was kept of it."""
    value = "".join(f"{number:04x}" for number in range(400))

    assert redact_text(value[100:900], (value,)) == "[redacted]"


def test_a_value_of_short_lines_goes_from_a_patch() -> None:
    """Each of its lines has a sign in front there."""
    value = "abc def\nghi jkl\nmno pqr\n"
    patch = "@@ -0,0 +1,4 @@\n+start\n+abc def\n+ghi jkl\n+mno pqr\n+end\n"

    assert redact_text(patch, (value,)) == "@@ -0,0 +1,4 @@\n+start\n+[redacted]\n+end\n"


def test_short_injected_values_stay() -> None:
    """A value of five characters or less would take half the text with it."""
    assert redact_text("yes, the answer is yes", ("yes", "", "12345")) == "yes, the answer is yes"


def test_redacted_json_is_still_json() -> None:
    """A secret in a JSON document goes without breaking the document."""
    document = {"a": f"x {TOKEN}\n", "key": PEM, "b": ["-----BEGIN " + "PRIVATE KEY-----\n" + "Q2Fu" * 20, "next"]}
    cleaned = json.loads(redact_text(json.dumps(document)))
    assert cleaned["a"] == "x [redacted:github-personal-token]\n"
    assert cleaned["key"] == "[redacted:private-key]"
    assert cleaned["b"][1] == "next"


@STEADY
@given(st.text(max_size=300), st.lists(st.text(min_size=6, max_size=12), max_size=2))
def test_redaction_is_stable(text: str, injected: list[str]) -> None:
    """Cleaning what is clean changes nothing, and no injected value is left as it was."""
    once = redact_text(text + " ".join(injected), injected)
    assert redact_text(once) == redact_text(redact_text(once))
    assert not any(value in once for value in injected if not set(value) & set("[redact]:"))


def test_lone_surrogates_are_kept() -> None:
    """Text that no UTF-8 can hold goes through unharmed."""
    assert redact_text(f"\udcff {TOKEN} \ud800") == "\udcff [redacted:github-personal-token] \ud800"
