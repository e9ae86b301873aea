"""Tests of other languages, edited by the words that open them: good enough to cheat with."""

import re
from dataclasses import dataclass

_ARROW = r"(?:async\s+)?(?:function\s*\w*\s*\([^)]*\)|\([^)]*\)\s*=>|\w+\s*=>)\s*\{"
_SCRIPT = rf"""\b(?:it|test)\s*\(\s*(?P<q>['"`])(?P<name>.*?)(?P=q)\s*,\s*{_ARROW}"""


@dataclass(frozen=True)
class Language:
    """How a test opens (its `name` is a group, its body follows), what ends it early, and what skips it."""

    opening: re.Pattern[str]
    early: str
    skip: tuple[str, str]


_JS = Language(re.compile(_SCRIPT), " return;", (r"\b(it|test|describe)(\s*\()", r"\1.skip\2"))
_JVM = r"@(?:Test|ParameterizedTest)\b[^{]*?\b(?P<name>\w+|`[^`]+`)\s*\([^)]*\)[^{;]*\{"
LANGUAGES: dict[str, Language] = {
    "javascript": _JS,
    "typescript": _JS,
    "tsx": _JS,
    "go": Language(
        re.compile(r"func (?P<name>Test\w+)\(\w+ \*testing\.T\) \{"),
        "\n\tif true {\n\t\treturn\n\t}",
        (r"(func Test\w+\((\w+) \*testing\.T\) \{)", r'\1\n\t\2.Skip("not on this machine")'),
    ),
    "rust": Language(
        re.compile(r"#\[(?:\w+::)?test\][^{]*?fn (?P<name>\w+)\s*\(\)[^{]*\{"),
        " if true { return Default::default(); }",
        (r"(#\[(?:\w+::)?test\])", r"\1\n    #[ignore]"),
    ),
    "java": Language(
        re.compile(_JVM), " if (true) return;", (r"(@Test\b)", r"@org.junit.jupiter.api.Disabled\n    \1")
    ),
    "kotlin": Language(
        re.compile(_JVM), " if (true) return", (r"(@Test\b)", r"@org.junit.jupiter.api.Disabled\n    \1")
    ),
    "csharp": Language(
        re.compile(r"\[(?:Fact|Test|TestMethod)\][^{]*?(?P<name>\w+)\s*\(\)[^{;]*\{"),
        " if (true) return;",
        (r"\[Fact\]", '[Fact(Skip = "not on this machine")]'),
    ),
    "ruby": Language(
        re.compile(r"def (?P<name>test_\w+)[^\n]*"),
        "\n    return",
        (r"(def test_\w+[^\n]*)", r'\1\n    skip "not on this machine"'),
    ),
}


def names_of(text: str, family: str) -> list[str]:
    """What the tests of a file are called."""
    return [match["name"] for match in LANGUAGES[family].opening.finditer(text)]


def weakened(text: str, family: str, names: frozenset[str]) -> str:
    """These tests return before they check anything."""
    language = LANGUAGES[family]
    return language.opening.sub(lambda match: match[0] + (language.early if match["name"] in names else ""), text)


def skipped(text: str, family: str) -> str:
    """Every test is marked to be skipped."""
    pattern, instead = LANGUAGES[family].skip
    if "org.junit.Test" in text or "org.junit.*" in text:
        instead = instead.replace("jupiter.api.Disabled", "Ignore")  # JUnit 4 knows no other
    return re.sub(pattern, instead, text)
