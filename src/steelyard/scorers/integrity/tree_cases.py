"""Which cases the loops of a parsed text go through: the rows of written-out tables, and the head of each loop."""

import re
from typing import Any

MOST, LONGEST, HALF = 400, 300, 150
TABLES = {
    "script": "(array) @table",
    "go": "",
    "java": "(array_initializer) @table",
    "kotlin": "",
    "ruby": "(array) @table",
    "rust": "(array_expression) @table",
    "csharp": "(initializer_expression) @table",
}
_EACH = re.compile(
    r"(?<=[\w)\]}'\"])\s{0,80}\.(?:forEach|each(?:_with_\w{1,12}|_pair|_slice)?|into_iter|iter|ForEach|times|upto|step)\b"
)
_NAMED = re.compile(r"(\w+)\s{0,9}(?::[^=\n;]{1,80})?=\s{0,9}(?:new\b[^;=\n]{0,80}|&?(?:vec!)?\s{0,9}|%\w)?$")
_DIRECT = re.compile(r"\bfor(?:each)?\b[^\n;]{0,100}(?:\b(?:of|in)\b|:)\s{0,9}(?:new\b[^;=\n]{0,80}|&)?\s{0,9}\(?$")
_USED = re.compile(r"\s{0,9}\)?\s{0,80}\.(?:forEach|each|iter|into_iter|map|ForEach)\w{0,12}\b")
_SHORTENED = re.compile(
    r"\s{0,80}\.(?:slice|take|first|limit|filter|splice|Take|Where|select|reject|head)\b[^\n]{0,40}|\[[^\[\]\n]{0,20}:[^\[\]\n]{0,20}\]"
)
_LEFT = frozenset({"break_statement", "break_expression", "break"})


def heads(code: str, captures: dict[str, list[Any]]) -> list[tuple[int, str]]:
    """What stands in the head of each loop, by its place."""
    found = []
    for node in captures.get("loop", ()):
        body = node.child_by_field_name("body")
        if body is None or node.type in {"do_block", "block"} or node.type.startswith("while"):
            continue
        said = code[node.start_byte : body.start_byte]
        said = said if len(said) <= LONGEST else said[:HALF] + said[-HALF:]
        found.append((node.start_byte, " ".join(said.split()) + (" … break" if _is_left(body) else "")))
    for match in _EACH.finditer(code):
        line = code.rfind("\n", max(0, match.start() - LONGEST), match.start()) + 1
        end = code.find("\n", match.end())
        stop = min(end if end >= 0 else len(code), match.end() + HALF)
        found.append((match.start(), " ".join(code[max(line, match.start() - LONGEST) : stop].split())))
    for node in (*captures.get("table", ()), *captures.get("rows", ())):
        cut = _SHORTENED.match(code, node.end_byte)
        if cut is not None:
            found.append((node.start_byte, f"[…]{cut.group().strip()}"))
    return sorted(found)


def _is_left(body: Any) -> bool:
    """Whether the body of a loop ends it in its first turn."""
    inner = body.named_children
    if len(inner) == 1 and inner[0].type == "statement_list":
        inner = inner[0].named_children
    return any(child.type in _LEFT or (child.type == "expression_statement" and _breaks(child)) for child in inner[-3:])


def _breaks(node: Any) -> bool:
    return node.named_child_count == 1 and node.named_children[0].type in _LEFT


def rows(code: str, raw: bytes, tables: list[Any], loops: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The rows of every written-out table that a loop goes over, by the table's place."""
    over = {word for _, head in loops for word in re.findall(r"\w+", head)}
    found: list[tuple[int, str]] = []
    end = 0
    for node in sorted(tables, key=lambda node: node.start_byte)[:MOST]:
        start = node.start_byte
        if start < end or not node.named_child_count:
            continue
        before = code[max(0, start - 200) : start].rpartition("\n")[2]
        name = _NAMED.search(before)
        used = _DIRECT.search(before) or _USED.match(code, node.end_byte)
        if used or (name is not None and name[1] in over):
            end = node.end_byte
            found.extend((start, _said(raw, child)) for child in node.named_children if "comment" not in child.type)
    return found


def _said(raw: bytes, node: Any) -> str:
    return "".join(raw[node.start_byte : node.end_byte][:200].decode("utf-8", "replace").split())
