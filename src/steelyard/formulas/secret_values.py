"""Whether a string where a secret would stand is one: no placeholder, no word, no piece of code."""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

_PLACEHOLDER = (
    rb"(?i)example|placeholder|redacted|change_?-?(?:me|it)|replace[_-]?(?:me|with|this)|insert[_-]|your[_-]|dummy|xxxx|"
    rb"\*\*\*|\.\.\.|\xe2\x80\xa2|\xe2\x80\xa6|<[a-z][a-z0-9_ .:-]*>|\$\{|#\{|\{\{|\$\(|%\([a-z_]+\)"
)
# What standards and manuals print as an example, and everybody copies: OAuth (RFC 6749), OpenID Connect, one-time
# passwords, the storage emulator that comes with its key, the web token of one John Doe.
_PRINTED = (
    rb"2YotnFZFEjr1zCsi|tGzv3JOkF0XG5Qx2TlK|SlAV32hkKG|8xLOxBtZp8|SplxlOBeZQQYbYS6WxSbIA|7Fjfp0ZBr1KtDRbnfVdmIw|"
    rb"gX1fBat3bV|JBSWY3DPEHPK3PXP|Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsu|"
    rb"eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwi(?:aWF0|YWRt)"
)
# Lookups, addresses of all kinds, paths, hashed passwords, classes of a style sheet, dates and version numbers; public
# keys by how they begin; what was blotted out.
_ELSEWHERE = (
    rb"(?i)^(?:[$%@{<\[(]|env[:.]|process\.env|os\.|[a-z][a-z0-9+.-]{1,20}://|file:|arn:|urn:|/[a-z]|~/|\./|\.\./|#/|"
    rb"(?:md5|sha[0-9]+|pbkdf2|bcrypt|argon2|scrypt|crypt)[a-z0-9_]{0,16}\$|"
    rb"[a-z0-9._+-]*@(?:localhost|[a-z0-9-]+\.[a-z0-9.-]+)(?::[0-9]+)?/|"
    rb"[a-z0-9._+-]+@[a-z0-9.-]+\.(?:com|org|net|io|[a-z]{2})$|"
    rb"0x[0-9a-f]{1,16}$|&(?:[a-z]{2,4}|#[0-9]{1,4});|"
    rb"[a-z][a-z0-9]*(?:-{2,3}|__)[a-z]+[_-]|_[a-z]+_[a-z0-9]{5}_[0-9]+$|"
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]+(?:\.[0-9]+)+$|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,}$|"
    rb"(?-i:MFkwEwYH|MHYwEAYH|MCowBQYD|MII[BC]IjAN|MIGfMA0G|AAAA[BCE]3Nza))|-{5}|_{5}|\*\*[a-z]|/aws4_request|"
    rb"\.(?:json|ya?ml|toml|xml|csv|ini|conf|cfg|env|txt|log|md|html?|pem|key|crt|cer|p12|pfx|jks|bin|zip|t?gz|"
    rb"png|jpe?g|gif|svg|css|[jt]sx?|py|go|rb|rs|java|php|sh)$"
)
# Calls, collections and the rest of a query; places to fill in; words with or without a separator; constants.
_CODE = (
    rb"[(){}\[\]]|&[A-Za-z_]+=|:$|^(?:__|##?)[A-Za-z0-9_.-]+(?:__|##?)$"
    rb"|^[A-Z]?[a-z]{4,10}(?:[0-9]{1,2}|1234?5?6?)$|^[A-Za-z_.\-/:,;!?=+*&|@%]+$"
    rb"|^[._#/:-]*(?:(?:[a-z]+(?:[0-9]{1,3}[a-z]+)?[0-9]{0,4}|[0-9]{1,4})[._:/-])+"
    rb"(?:[a-z]+(?:[0-9]{1,3}[a-z]+)?[0-9]{0,4}|[0-9]{1,6})$"
    rb"|^[A-Z]+(?:_(?:[A-Z]+[0-9]{0,2}|[0-9]{1,4}))+$"
    rb"|^[A-Z][A-Z0-9]{0,9}(?:_[A-Z]{2,12}[0-9]{0,3})+$"
    rb"|^[A-Z]{1,9}[0-9]{0,4}[A-Z]{0,4}(?:[_/+-](?:[A-Z]{2,9}[0-9]{0,4}|[A-Z][0-9]{3}[A-Z]{0,4}|[0-9]{3}))+$"
    rb"|^[A-Za-z]?[a-z]{2,}(?:[A-Z]{1,4}[a-z]{2,}[0-9]?){2,}(?:V[0-9])?$"
)
# Values that hold nothing but an alphabet or a row of keys, or most of one.
_ALPHABET = rb"(?i)0123456789|1234567890|abcdefghijklm|qwertyuiop|asdfghjk|zxcvbnm|lkjhgfds|poiuytre|mnbvcxz"
# A password that says that it is one.
_SAYS_SO = rb"^[a-z]*[0-9]{0,3}[a-z]*(?:pass|pwd|secret)[a-z]*[0-9]{0,3}$"
# A name as programs give them: words in capitals and small letters, a short number at the end of one.
_NAME = (
    rb"^(?:[A-Za-z]?[a-z]+[0-9]{0,2}|[A-Z][a-z]+[0-9]{3,5}|[A-Z]{2,}[0-9]{0,2})"
    rb"(?:[A-Z]{1,3}[a-z]+[0-9]{0,2}|_[A-Za-z]+[0-9]{0,2})*(?:ID[0-9]{0,4})?$|^[A-Z]{3,12}[0-9]{0,6}:?$"
    rb"|^[A-Za-z_]{1,24}[0-9]{0,5}[A-Za-z_]{0,24}(?:\.[A-Za-z_]{1,24}[0-9]{0,5}[A-Za-z_]{0,24})+$"
)
_PATTERN = rb"\.[a-z]{2,}\(|\{[A-Za-z_]{2,}|\(\?|\.\*|\\|\[\^|[aA]-[zZ]|0-9|\{[0-9]+,"
_WORDS = (
    rb"^(?:password|passwd|passwort|pass|pwd|secret|token|test|testing|tests|sample|demo|fake|mock|foo|bar|baz|qux|"
    rb"admin|root|user|username|default|none|null|true|false|undefined|letmein|qwerty|abc|abcd|abcdef|xyz|key|api|my|your|"
    rb"the|a|is|not|an|some|new|old|access|refresh|auth|bearer|csrf|session|client|server|id|type|name|url|value|string|"
    rb"invalid|valid|wrong|right|correct|bad|good|hash|hashed|v|prod|dev|local|db|app|service|account|private|public|"
    rb"rsa|sha|hmac|md|bcrypt|utf|base|jwt|oauth|openid|x|n|m|i|u)*$"
)
# Pairs of letters that words are made of: a fifth of all pairs, and four fifths of those in words.
_PAIRS = frozenset(
    b"ab ac ad ag ai al am an ap ar as at ba bl ca ce ch ck cl co cr ct da de di do ds ea ec ed ee ef el em en ep "
    b"er es et ex ff fi fo ge ha he ho ia ic id ie if ig il im in io ip ir is it iv ke la le li ll lo ly ma me mi "
    b"mo mp na nc nd ne ng ni no ns nt oc od ol om on op or os ot ou ow pa pe pi pl po pp pr pt qu ra rc re ri rm "
    b"ro rr rs rt sc se sh si so sp ss st su ta te th ti to tr ts tt tu ty ul um un up ur us ut va ve".split()
)
# Letters that digits stand for, as in `s3cret`.
_SPELLED = bytes.maketrans(b"01345", b"oleas")
_ALPHANUMERIC = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NO_SMALL = bytes(set(range(256)) - set(range(97, 123)))
_SPECIAL = frozenset(b"!@#$%^&*?~+")
_MANY_SPECIAL = 2
_JUMBLED = 6
_LONG = 16
_ROLLED = 12
_FEW = 4


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
    """Whether a value says of itself that something else belongs there, or is a printed example."""
    return bool(compiled(_PLACEHOLDER).search(value) or compiled(_PRINTED).search(value))


def reads_like_code(value: bytes) -> bool:
    """Whether a value is a lookup, a path, a name, a word of any language rather than something secret."""
    if not value.isascii() or (compiled(_ELSEWHERE).search(value) and not _is_coded(value)):
        return True
    if _is_jumbled(value):
        return False
    return bool(compiled(_CODE).search(value)) or _is_stock(value) or any(map(_says_nothing, _plain(value)))


def _is_stock(value: bytes) -> bool:
    """Whether a value is an alphabet, or nothing but the words that stand for a secret in tests and manuals."""
    if compiled(_ALPHABET).search(value) or compiled(_SAYS_SO).search(value) or _is_rolled(letters(value)):
        return True
    return len(set(value) & _SPECIAL) < _MANY_SPECIAL and any(
        compiled(_WORDS).search(letters(spelled)) for spelled in _spellings(value.lower())
    )


def _is_rolled(said: bytes) -> bool:
    """Whether letters come from fingers that roll over the middle row of a keyboard; hex digits alone say nothing."""
    middle = sum(c in b"asdfghjkl" for c in said)
    return len(said) >= _ROLLED and 10 * middle >= 9 * len(said) and any(c in b"ghjkls" for c in said)


def _says_nothing(text: bytes) -> bool:
    """Whether what stood behind a code is no secret either."""
    signs = sum(bytes([c]).isalnum() for c in text)
    words = text.translate(None, bytes(_SPECIAL))
    return signs < _FEW or _is_stock(text) or is_wordy(words) or text.lower() in b"abcdefghijklmnopqrstuvwxyz"


def letters(value: bytes) -> bytes:
    """The letters of a value, all small."""
    return value.lower().translate(None, _NO_SMALL)


def _spellings(small: bytes) -> tuple[bytes, ...]:
    """A value, and if few digits are in it, the value with letters for them."""
    few = 4 * sum(48 <= c <= 57 for c in small) <= len(small)
    return (small, small.translate(_SPELLED)) if few else (small,)


def _plain(value: bytes) -> Iterator[bytes]:
    """The text that a value hides, where base64, base32 or the escapes of an address hide one."""
    import base64
    import binascii
    from urllib.parse import unquote_to_bytes

    if b"%" in value:
        yield unquote_to_bytes(value)
    if len(value) < _LONG:
        return
    for decode in (base64.b64decode, base64.b32decode):
        with suppress(binascii.Error):
            text = decode(
                value.rstrip(b"=") + b"=" * (-len(value.rstrip(b"=")) % (4 if decode is base64.b64decode else 8))
            )
            if text and all(32 <= c < 127 for c in text):
                yield text


def is_wordy(value: bytes) -> bool:
    """Whether a value is spelled as words are: half of it or more in pairs of letters, and most of them common ones."""
    small = value.lower()
    pairs = [pair for pair in (small[at : at + 2] for at in range(len(small) - 1)) if pair.isalpha()]
    return (
        not set(value) & _SPECIAL
        and 2 * len(pairs) >= len(value)
        and 20 * sum(pair in _PAIRS for pair in pairs) >= 11 * len(pairs)
    )


def is_name(value: bytes) -> bool:
    """Whether an unquoted value could be the name of a variable, so that it says nothing."""
    return bool(compiled(_NAME).search(value))


def _is_coded(value: bytes) -> bool:
    """Base64 that begins with a slash is no path: no folder's name is that long and mixed."""
    mixed = compiled(rb"^/[A-Za-z0-9+]{24,}").search(value)
    return bool(mixed) and all(compiled(kind).search(mixed.group()) for kind in (rb"[a-z]", rb"[A-Z]", rb"[0-9]"))


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
