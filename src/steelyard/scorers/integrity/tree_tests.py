"""Which parts of a parsed text are tests, in every language that tree-sitter reads."""

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from steelyard.scorers.integrity.paths import SCRIPTS

_CALLS = {
    "script": re.compile(
        r"(?<![\w$.])(?:QUnit\.|Deno\.)?[fx]?(?:it|test|describe|context|suite|specify)"
        r"(?:\.(?:only|skip\w*|todo|each|for|concurrent|sequential|serial|parallel|failing|fails|fixme|runIf|if|slow|describe"
        r"|step|cb|macro))*[ \t]*(?=[(`])"
    ),
    "ruby": re.compile(
        r"(?m)(?<![\w.:@])(?:[fx]?(?:it|specify|example|scenario|describe|context|feature)|test|should|RSpec\.describe)"
        r"(?=[ \t]*\(|[ \t]+[\"':A-Z])"
    ),
}
_TOP = frozenset({"global_statement", "compilation_unit"})
_GROUP = re.compile(r"(?:RSpec\.)?[fx]?(?:describe|context|suite|feature)\b")
COLLECTED = {
    "java": re.compile(
        r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property|Theory)\b"
    ),
    "kotlin": re.compile(r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b"),
    "csharp": re.compile(
        r"\b(?:Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod|\w+Fact|\w+Theory)\b"
    ),
    "rust": re.compile(r"#\[\s*(?:\w+::)*(?:test|rstest|test_case|proptest|quickcheck)\b"),
}
# What a runner passes over though it is marked, and what makes a failed assertion the wanted end of a test.
_NEVER = re.compile(r"(?!)")
_UNSEEN = {
    "java": re.compile(r"^[ \t]*(?:\w+[ \t]+){0,3}(?:private|static)[ \t][^\n(]*\(", re.MULTILINE),
    "kotlin": re.compile(r"\bprivate\b[^\n(]{0,100}\bfun\b"),
    "csharp": re.compile(r"(?:^|\])[ \t]*private[ \t][^\n(\[]*\(", re.MULTILINE),
}
_INVERTED = {
    "java": re.compile(r"\bexpected\s*=\s*(?:java\.lang\.)?(?:Throwable|Error|AssertionError)\.class"),
    "csharp": re.compile(r"\bExpectedException\b(?:\s*\(\s*typeof\s*\(\s*(?:System\.)?Exception\s*\)|\s*[\],])"),
    "rust": re.compile(r"#\[\s*should_panic\b"),
}


@dataclass(frozen=True, slots=True)
class Region:
    """A test or a group of tests, by its place in the text."""

    name: str
    start: int
    body: int
    end: int
    collected: bool = True
    group: bool = False
    cases: int | None = None
    inverted: bool = False


def regions(
    family: str, raw: bytes, code: str, root: Any, captures: dict[str, list[Any]], context: str
) -> list[Region]:
    """Every test and group, outer ones first."""
    by_name = context == "names tests"
    functions = (_function(family, raw, node, by_name) for node in captures.get("function", []))
    found = [region for region in functions if region is not None]
    calls = _CALLS.get("script" if family in SCRIPTS else family)
    if calls is not None:
        found.extend(_called(family, raw, code, root, calls))
    found.sort(key=lambda region: (region.start, -region.end))
    if family == "go":
        found = _with_rows(found, captures.get("rows", []))
    return _qualified(found)


def owners(tests: list[Region], places: list[int]) -> list[int]:
    """Which test is the innermost around each of these places, which ascend; -1: none. Groups count as tests."""
    around: list[int] = []
    following, found = 0, []
    for at in places:
        while following < len(tests) and tests[following].start <= at:
            around.append(following)
            following += 1
        while around and tests[around[-1]].end <= at:
            around.pop()
        found.append(around[-1] if around else -1)
    return found


def marks_tests(text: str) -> bool:
    """Whether a Java file marks its tests; in one that extends `TestCase` those without a mark run too."""
    return "@Test" in text and re.search(r"\bextends\s+\w*TestCase\b", text) is None


def _qualified(found: list[Region]) -> list[Region]:
    """Names with those of the groups around them."""
    named: list[Region] = []
    around: list[Region] = []
    for region in found:
        while around and around[-1].end <= region.start:
            around.pop()
        prefix = f"{around[-1].name} > " if around else ""
        full = Region(
            (prefix + region.name)[-400:], region.start, region.body, region.end,
            region.collected, region.group, region.cases, region.inverted,
        )  # fmt: skip
        named.append(full)
        if region.group:
            around.append(full)
    return named


def _called(family: str, raw: bytes, code: str, root: Any, pattern: re.Pattern[str]) -> list[Region]:
    """Tests that are calls: `it("name", () => …)`, `it "name" do … end`."""
    found = []
    kind = "call" if family == "ruby" else "call_expression"
    for match in pattern.finditer(code):
        node = root.descendant_for_byte_range(match.start(), match.start() + 1)
        best = None
        for _ in range(6):
            if node is None or node.start_byte != match.start():
                break
            best = node if node.type == kind else best
            node = node.parent
        if best is None:
            continue
        said = match.group()
        start, end = best.start_byte, best.end_byte
        name = _title(raw, best)
        if name is None:
            continue
        group = _GROUP.match(said) is not None
        cases = _each(best) if ".each" in said else None
        found.append(Region(name, start, match.end(), end, True, group, cases))
    return found


def _title(raw: bytes, node: Any) -> str | None:
    """The first argument of a call, as it is written."""
    given = node.child_by_field_name("arguments")
    first = given.named_child(0) if given is not None and given.named_child_count else None
    if first is None:
        return None
    return " ".join(raw[first.start_byte : first.end_byte][:200].decode("utf-8", "replace").strip("\"'`").split())


def _each(node: Any) -> int | None:
    """How many rows `it.each([…])` runs with, where they are written out."""
    inner: Any = node.child_by_field_name("function")
    given = inner.child_by_field_name("arguments") if inner is not None else None
    rows = given.named_child(0) if given is not None and given.named_child_count else None
    if rows is None or rows.type != "array" or any(child.type == "spread_element" for child in rows.named_children):
        return None
    return len([child for child in rows.named_children if child.type != "comment"])


def _function(family: str, raw: bytes, node: Any, by_name: bool) -> Region | None:
    """Tests that are functions, by their attributes or (`by_name`, in JUnit 3) by their names."""
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name is None:
        return None
    if body is None:
        body = next((child for child in node.children if child.type in {"function_body", "block"}), None)
    # A method without its class reads as a local function of the file.
    if body is None or (node.type == "local_function_statement" and node.parent.type not in _TOP):
        return None
    said = raw[name.start_byte : name.end_byte].decode("utf-8", "replace").strip("`")
    start, head = _head(family, raw, node, body)
    if family == "go":
        collected = re.match(r"(?:Test|Fuzz|Example)(?![a-z])", said) is not None
    elif family == "ruby":
        collected = said.startswith("test_")
    else:
        collected = COLLECTED[family].search(head) is not None or (by_name and said.startswith("test"))
        collected = collected and _UNSEEN.get(family, _NEVER).search(head) is None
    inverted = _INVERTED.get(family, _NEVER).search(head) is not None
    return Region(said, start, body.start_byte, node.end_byte, collected, cases=_rows(family, head), inverted=inverted)


def _head(family: str, raw: bytes, node: Any, body: Any) -> tuple[int, str]:
    """Everything before the body: attributes, modifiers, name. Rust's attributes stand beside the function."""
    start = node.start_byte
    if family == "rust":
        before = node.prev_named_sibling
        while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
            start = before.start_byte if before.type == "attribute_item" else start
            before = before.prev_named_sibling
    return start, raw[start : body.start_byte].decode("utf-8", "replace")


def _rows(family: str, head: str) -> int | None:
    """How often a test with written-out data runs."""
    if family == "csharp":
        return len(re.findall(r"\b(?:InlineData|TestCase|DataRow|Arguments)\s*\(", head)) or None
    if family == "rust":
        return len(re.findall(r"#\[\s*(?:case|test_case)\b", head)) or None
    given = re.search(r"@(?:CsvSource|ValueSource)\s*\((.*?)\)\s*(?:@|public|void|fun|[a-z]+\s)", head, re.DOTALL)
    if given is None:
        return None
    return len(re.findall(r"\"(?:\\.|[^\"\\])*\"|(?<![\w.])\d[\w.]*", given.group(1))) or None


def _with_rows(found: list[Region], rows: list[Any]) -> list[Region]:
    """Go tests with the number of rows of the tables in each; a list within a row is no table."""
    tables: list[tuple[int, int]] = []
    end = 0
    for node in sorted(rows, key=lambda node: node.start_byte):
        if node.start_byte >= end and _is_table(node):
            tables.append((node.start_byte, sum(child.type != "comment" for child in node.named_children)))
            end = node.end_byte
    starts = [start for start, _ in tables]
    sums = [0, *accumulate(count for _, count in tables)]
    counts = [sums[bisect_left(starts, one.end)] - sums[bisect_left(starts, one.start)] for one in found]
    return [replace(one, cases=count) if count else one for one, count in zip(found, counts, strict=True)]


def _is_table(node: Any) -> bool:
    if not node.named_child_count or b"{" not in node.text[1:200]:
        return False
    return any(child.type in {"literal_value", "keyed_element", "literal_element"} for child in node.named_children[:2])
