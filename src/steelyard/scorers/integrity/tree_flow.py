"""Parts of a parsed text where nothing can fail: never reached, or failures that nobody hears of."""

import re
from collections.abc import Iterable
from typing import Any

from steelyard.scorers.integrity.conditions import always, condition
from steelyard.scorers.integrity.tree_dead import lost_ranges
from steelyard.scorers.integrity.tree_unheard import statement

NEVER = re.compile(
    r"\b(?:if|while|elsif)\b\s*(?:\(\s*)*(?:false|0|!\s*true|!\s*1|null|nil|undefined)\s*(?:\)|&&|\{|\n|then|;)|\bunless\s+true\b"
)
_LEAVES = re.compile(
    r"return\b|throw\b|raise\b|next(?=[ \t]*(?:;|$))|(?:continue|break)\b"
    r"|(?:exit!?|_exit|Exit|Goexit|halt|abort|Pass)(?=[ \t]*\(|\s*$|[ \t]+\d)",
    re.MULTILINE,
)
_OWNER = re.compile(r"(?:[A-Za-z_]\w*(?:\(\))?(?:\.|::))*")
_CONDITION = re.compile(r"\b(if|while|elsif|unless|until)\b|\b(?:false|0|null|undefined)\s*&&")
_DECIDED = re.compile(
    r"(?i:true|false)|\d|\bnull\b|\bnil\b|undefined|void 0|\"\"|''|cfg!|(\b[\w.]+\b) *[!=]==? *\1(?![\w.(\[])"
)
_BODIES = frozenset(
    {"statement_block", "block", "statement_list", "body_statement", "statements", "function_body", "then"}
)
_IFS = frozenset({
    "if_statement", "if_expression", "if", "while_statement", "while_expression", "unless", "while", "until", "elsif",
    "if_modifier", "unless_modifier", "while_modifier",
})  # fmt: skip
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


def dead_ranges(family: str, code: str, root: Any, tests: Iterable[tuple[int, int]] = ()) -> list[tuple[int, int, str]]:
    """(start, end, why) of every part that can't fail a test; `tests` are their places."""
    found: list[tuple[int, int, str]] = []
    for match in _CONDITION.finditer(code):
        found.extend(_decided(family, code, root, match))
    found.extend(_after_leaving(code, root))
    if family not in {"go", "rust"}:
        found.extend(_unheard(family, code, root))
    found.extend(lost_ranges(family, code, root, tests))
    return found


def _decided(family: str, code: str, root: Any, match: re.Match[str]) -> list[tuple[int, int, str]]:
    """What a condition that is always the same keeps from being run."""
    if match.group(1) is None:
        node = _up(root, match.end() - 1, frozenset({"binary_expression"}))
        right = None if node is None else node.child_by_field_name("right")
        return [] if right is None else [(right.start_byte, right.end_byte, "unreachable")]
    said = condition(code, match.end(), family)
    flag = always(said, family) if _DECIDED.search(said) else None
    node = None if flag is None else _up(root, match.start(), _IFS)
    if node is None:
        return []
    if match.group(1) in {"unless", "until"}:
        flag = not flag
    part = node.child_by_field_name("consequence") or node.child_by_field_name("body")
    if part is None:
        part = next((child for child in node.named_children if child.type in _BODIES), None)
    if not flag:
        return [] if part is None else [(part.start_byte, part.end_byte, "unreachable")]
    found = []
    other = node.child_by_field_name("alternative")
    if other is not None and match.group(1) == "if":
        found.append((other.start_byte, other.end_byte, "unreachable"))
    whole = statement(root, node.start_byte)
    if part is not None and whole is not None and whole.parent is not None and _is_left(code, part):
        follows = whole.next_named_sibling
        if follows is not None:
            found.append((whole.end_byte, whole.parent.end_byte, "unreachable"))
    return found


def _is_left(code: str, part: Any) -> bool:
    """Whether a block ends the function it stands in."""
    said = code[part.start_byte : part.end_byte].strip().removeprefix("{").lstrip()
    said = re.sub(r"^then\b", "", said).lstrip()
    return re.match(r"(?:return|throw|raise)\b[^\n{}]*\s*[};]?", said) is not None and said.count("\n") <= 3


def guards(code: str, root: Any) -> list[tuple[int, int]]:
    """(start, end of its block) of every condition under which a block is left without a word."""
    found = []
    around: dict[int, Any] = {}  # by a block, the condition or function it stands in
    for match in _BARE.finditer(code):
        node = _outer(root.descendant_for_byte_range(match.start(), match.start() + 1), around)
        if node is None or node.type in _FUNCTIONS or node.child_by_field_name("alternative") is not None:
            continue
        part = node.child_by_field_name("consequence") or node.child_by_field_name("body")
        whole = statement(root, node.start_byte)
        if part is None or whole is None or whole.parent is None or whole.next_named_sibling is None:
            continue
        asked = node.child_by_field_name("condition")
        if asked is None or re.fullmatch(r"[\s(!]*\w+[\s)]*", code[asked.start_byte : asked.end_byte]):
            continue  # a name is taken for the test's own
        if re.fullmatch(r"\{?\s*(?:then\b)?\s*return(?:\s+nil)?\s*;?\s*\}?", code[part.start_byte : part.end_byte]):
            found.append((whole.start_byte, whole.parent.end_byte))
    return found


def _outer(node: Any, around: dict[int, Any]) -> Any:
    """The condition or the function around a node."""
    passed = []
    while node is not None and node.type not in _CONDITIONAL and node.type not in _FUNCTIONS:
        if node.type in _BODIES:
            if node.id in around:
                node = around[node.id]
                break
            passed.append(node.id)
        node = node.parent
    around.update(dict.fromkeys(passed, node))
    return node


_BARE = re.compile(r"\breturn\b[ \t]*(?=;|\n|\}|$|if\b|unless\b|nil\b|end\b)")
_CONDITIONAL = frozenset({"if_statement", "if_expression", "if", "unless", "if_modifier", "unless_modifier"})
_FUNCTIONS = frozenset({
    "function_declaration", "method_declaration", "arrow_function", "function_expression", "func_literal",
    "lambda_expression", "closure_expression", "lambda_literal", "lambda", "function_item", "method", "do_block",
    "local_function_statement",
})  # fmt: skip


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
        if node is None or node.parent is None or not _leads(code[node.start_byte : match.start()], match.group()):
            continue  # `return if x` and `x or return` leave only sometimes
        if node.type.startswith(("if", "unless")) or node.type == "binary":
            continue
        follows = node.next_named_sibling
        while follows is not None and "comment" in follows.type:
            follows = follows.next_named_sibling
        if follows is not None:
            found.append((node.end_byte, node.parent.end_byte, "unreachable"))
    return found


def _leads(owner: str, word: str) -> bool:
    """Whether a statement begins with this word, or with what it is called on."""
    if word in {"return", "throw", "raise", "next", "continue", "break"}:
        return not owner
    return owner == "Assert." if word == "Pass" else _OWNER.fullmatch(owner) is not None


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
    head = handler.partition("\n")[0] if family == "ruby" else handler.partition("{")[0] + "{"
    if wanted is not None and wanted.search(head) is None:
        return False
    return _HEARD.search(handler.partition("{")[2] if family != "ruby" else handler.partition("\n")[2]) is None
