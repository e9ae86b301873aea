"""Whether a string where a secret would stand is one: no placeholder, no word, no piece of code."""

import math
from collections import Counter
from functools import cache
from typing import Any

_PLACEHOLDER = (
    rb"(?i)example|placeholder|redacted|change_?-?(?:me|it)|replace[_-]?(?:me|with|this)|insert[_-]|your[_-]|dummy|xxxx|"
    rb"\*\*\*|\.\.\.|\xe2\x80\xa2|\xe2\x80\xa6|<[a-z][a-z0-9_ .:-]*>|\$\{|#\{|\{\{|\$\(|%\([a-z_]+\)"
)
# Lookups, addresses, paths, dates and version numbers; public keys by how they begin; what was blotted out.
_ELSEWHERE = (
    rb"(?i)^(?:[$%@{<\[(]|env[:.]|process\.env|os\.|[a-z][a-z0-9+.-]{1,20}://|file:|arn:|urn:|/[a-z]|~/|\./|\.\./|#/|"
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]+(?:\.[0-9]+)+$|"
    rb"(?-i:MFkwEwYH|MHYwEAYH|MCowBQYD|MII[BC]IjAN|MIGfMA0G|AAAA[BCE]3Nza))|-{5}|_{5}|\*\*[a-z]|/aws4_request|"
    rb"\.(?:json|ya?ml|toml|xml|csv|ini|conf|cfg|env|txt|log|md|html?|pem|key|crt|cer|p12|pfx|jks|bin|zip|t?gz|"
    rb"png|jpe?g|gif|svg|css|[jt]sx?|py|go|rb|rs|java|php|sh)$"
)
# Calls and collections; words with or without a separator; constants.
_CODE = (
    rb"[(){}\[\]]|^[A-Za-z_.\-/:,;!?=+*&|@%]+$"
    rb"|^[._#/:-]*(?:(?:[a-z]+(?:[0-9]{1,3}[a-z]+)?[0-9]{0,4}|[0-9]{1,4})[._:/-])+"
    rb"(?:[a-z]+(?:[0-9]{1,3}[a-z]+)?[0-9]{0,4}|[0-9]{1,4})$"
    rb"|^[A-Z]+(?:_(?:[A-Z]+[0-9]{0,2}|[0-9]{1,4}))+$"
    rb"|^[A-Za-z]?[a-z]{2,}(?:[A-Z]{1,4}[a-z]{2,}[0-9]?){2,}(?:V[0-9])?$"
)
# Values that hold nothing but an alphabet, or most of one.
_ALPHABET = rb"(?i)0123456789|1234567890|abcdefghijklm|qwertyuiop"
# A name as programs give them: words in capitals and small letters, a short number at the end of one.
_NAME = (
    rb"^(?:[A-Za-z]?[a-z]+[0-9]{0,2}|[A-Z][a-z]+[0-9]{3,5}|[A-Z]{2,}[0-9]{0,2})"
    rb"(?:[A-Z]{1,3}[a-z]+[0-9]{0,2}|_[A-Za-z]+[0-9]{0,2})*$|^[A-Z]{3,12}[0-9]{0,6}:?$"
    rb"|^[A-Za-z_]{1,24}[0-9]{0,5}[A-Za-z_]{0,24}(?:\.[A-Za-z_]{1,24}[0-9]{0,5}[A-Za-z_]{0,24})+$"
)
_PATTERN = rb"\.[a-z]{2,}\(|\{[A-Za-z_]{2,}|\(\?|\.\*|\\|\[\^|[aA]-[zZ]|0-9|\{[0-9]+,"
_WORDS = (
    rb"^(?:password|passwd|passwort|pass|pwd|secret|token|test|testing|tests|sample|demo|fake|mock|foo|bar|baz|qux|"
    rb"admin|root|user|username|default|none|null|true|false|undefined|letmein|qwerty|abc|abcd|abcdef|key|api|my|your|"
    rb"the|a|is|not|an|some|new|old|access|refresh|auth|bearer|csrf|session|client|server|id|type|name|url|value|string|"
    rb"invalid|valid|wrong|right|correct|bad|good|hash|hashed|v|prod|dev|local|db|app|service|account|private|public|"
    rb"rsa|sha|hmac|md|bcrypt|utf|base|jwt|oauth|openid|x|n|m|i)*$"
)
_ALPHANUMERIC = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NO_SMALL = bytes(set(range(256)) - set(range(97, 123)))
_SPECIAL = frozenset(b"!@#$%^&*?~+")
_MANY_SPECIAL = 2
_JUMBLED = 6
_LONG = 16


@cache
def compiled(pattern: str | bytes) -> Any:
    """An expression over bytes: bytes are characters, so that places in a text stay places in its bytes."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return re2.compile(pattern.encode() if isinstance(pattern, str) else pattern, options)


def entropy(value: bytes) -> float:
    """Shannon entropy in bits a character."""
    total = len(value)
    often = [n for n in Counter(value).values() if n > 1]
    return math.log2(total) - sum(n * math.log2(n) for n in often) / total if total else 0.0


def is_placeholder(value: bytes) -> bool:
    """Whether a value says of itself that something else belongs there."""
    return bool(compiled(_PLACEHOLDER).search(value))


def reads_like_code(value: bytes) -> bool:
    """Whether a value is a lookup, a path, a name or a common word rather than something secret."""
    if compiled(_ELSEWHERE).search(value):
        return True
    if _is_jumbled(value):
        return False
    if compiled(_CODE).search(value) or compiled(_ALPHABET).search(value):
        return True
    letters = value.lower().translate(None, _NO_SMALL)
    return bool(compiled(_WORDS).search(letters)) and len(set(value) & _SPECIAL) < _MANY_SPECIAL


def is_name(value: bytes) -> bool:
    """Whether an unquoted value could be the name of a variable, so that it says nothing."""
    return bool(compiled(_NAME).search(value))


def _is_jumbled(value: bytes) -> bool:
    """A long mix of many signs, as generators make it: brackets in it are no calls. A regular expression is none."""
    signs = set(value.translate(None, _ALPHANUMERIC)) if len(value) >= _LONG else set()
    return len(signs) >= _JUMBLED and not compiled(_PATTERN).search(value)


def decoded(value: bytes) -> bytes | None:
    """The password in `user:password` that base64 hides; None where it hides no such thing."""
    import base64
    import binascii

    try:
        plain = base64.b64decode(value + b"=" * (-len(value) % 4))
    except binascii.Error:
        return None
    user, colon, password = plain.partition(b":")
    return (password or user) if colon and all(32 <= c < 127 for c in plain) else None
