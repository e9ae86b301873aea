"""Parts of a parsed text where nothing can fail: never reached, or failures that nobody hears of."""

import re
from typing import Any

NEVER = re.compile(
    r"\b(?:if|while|elsif)\b\s*(?:\(\s*)*(?:false|0|!\s*true|!\s*1|null|nil|undefined)\s*(?:\)|&&|\{|\n|then|;)|\bunless\s+true\b"
)
_LEAVES = re.compile(r"\b(?:return|throw|raise|process\.exit|os\.Exit|System\.exit|exit!?)\b")
_BODIES = frozenset(
    {"statement_block", "block", "statement_list", "body_statement", "statements", "function_body", "then"}
)
_IFS = frozenset({"if_statement", "if_expression", "if", "while_statement", "while_expression", "unless", "while"})
CATCH = re.compile(r"\b(?:catch|rescue)\b")
_HEARD = re.compile(
    r"\b(?:throw|fail\w*|assert\w*|Assert|expect\w*|reject|done|raise|panic|verify|flunk|push|add|should\w*|next|t\.\w+)\b|[^=!<>]=[^=>]"
)
# What has to be caught for a failed assertion to go unnoticed; where empty, any catch does.
_CAUGHT = {
    "java": re.compile(r"\b(?:AssertionError|Throwable|Error|AssertionFailedError)\b"),
    "kotlin": re.compile(r"\b(?:AssertionError|Throwable|Error|AssertionFailedError)\b"),
    "ruby": re.compile(
        r"\b(?:Exception|Minitest::Assertion|ExpectationNotMetError|Test::Unit::AssertionFailedError)\b"
    ),
    "csharp": re.compile(
        r"\bcatch\s*(?:\{|\(\s*(?:\w+\.)*(?:Exception|AssertionException|\w*AssertException|XunitException)\b)"
    ),
}


def dead_ranges(family: str, code: str, root: Any) -> list[tuple[int, int, str]]:
    """(start, end, why) of every part that can't fail a test."""
    found: list[tuple[int, int, str]] = []
    for match in NEVER.finditer(code):
        node = _up(root, match.start(), _IFS)
        part = None if node is None else node.child_by_field_name("consequence") or node.child_by_field_name("body")
        if node is not None and part is None:
            part = next((child for child in node.named_children if child.type in _BODIES), None)
        if part is not None:
            found.append((part.start_byte, part.end_byte, "unreachable"))
    found.extend(_after_leaving(code, root))
    if family not in {"go", "rust"}:
        found.extend(_unheard(family, code, root))
    return found


def covers(dead: list[tuple[int, int, str]], places: list[int]) -> list[str]:
    """Why nothing can fail at each of these places, which ascend; empty where something can."""
    waiting = sorted(dead, reverse=True)
    until, why, found = 0, "", []
    for at in places:
        while waiting and waiting[-1][0] <= at:
            _, end, reason = waiting.pop()
            if end > until:
                until, why = end, reason
        found.append(why if at < until else "")
    return found


def _up(root: Any, at: int, kinds: frozenset[str]) -> Any:
    node = root.descendant_for_byte_range(at, at + 1)
    for _ in range(6):
        if node is None or (node.is_named and node.type in kinds):
            return node
        node = node.parent
    return None


def _after_leaving(code: str, root: Any) -> list[tuple[int, int, str]]:
    """What follows a `return` in the same block."""
    found = []
    for match in _LEAVES.finditer(code):
        node = root.descendant_for_byte_range(match.start(), match.start() + 1)
        for _ in range(6):
            parent = None if node is None else node.parent
            if parent is None or parent.type in _BODIES:
                break
            node = parent
        if node is None or node.parent is None or node.start_byte != match.start():
            continue  # `return if x` and `x or return` leave only sometimes
        if node.type.startswith(("if", "unless")) or node.type == "binary":
            continue
        follows = node.next_named_sibling
        while follows is not None and "comment" in follows.type:
            follows = follows.next_named_sibling
        if follows is not None:
            found.append((node.end_byte, node.parent.end_byte, "unreachable"))
    return found


def _unheard(family: str, code: str, root: Any) -> list[tuple[int, int, str]]:
    """The body of a `try` whose `catch` takes a failed assertion and says nothing."""
    found = []
    tries = frozenset({"try_statement", "try_expression", "begin", "body_statement", "do_block"})
    for match in CATCH.finditer(code):
        handler = _up(root, match.start(), frozenset({"catch_clause", "catch_block", "rescue"}))
        outer = _up(root, match.start(), tries)
        if handler is None or outer is None:
            continue
        if silent(family, code[handler.start_byte : handler.end_byte]):
            found.append((outer.start_byte, handler.start_byte, "swallowed"))
    return found


def silent(family: str, handler: str) -> bool:
    """Whether a `catch` takes a failed assertion and says nothing."""
    wanted = _CAUGHT.get(family)
    if wanted is not None and wanted.search(handler.partition("\n")[0]) is None:
        return False
    return _HEARD.search(handler.partition("{")[2] if family != "ruby" else handler.partition("\n")[2]) is None
