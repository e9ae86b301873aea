"""Work whose failures nobody hears of: threads nobody waits for, promises that are caught, assertions meant to fail."""

import re
from collections.abc import Iterator
from typing import Any

from steelyard.scorers.integrity.paths import SCRIPTS

Range = tuple[int, int, str]
_BROAD = r"(?:[\w.]{0,60}\.)?(?:Throwable|Error|Exception|Assertion(?:Failed)?(?:Error|Exception)|XunitException)"
_JVM = re.compile(
    r"\bnew\s+Thread\s*\(|\bthread\s*(?:\([^()\n]{0,80}\)\s*)?\{|\b(?:execut\w{0,20}|pool|service)\.(?:submit|execute)\s*\("
    r"|\bCompletableFuture\.(?:run|supply)Async\s*\(|\bGlobalScope\.(?:launch|async)\b|\brunCatching\s*\{"
    rf"|\b(?:assertThrows|expectThrows|assertThrowsExactly)\s*\(\s*{_BROAD}\.class\b"
    rf"|\b(?:assertFailsWith|shouldThrow|assertThrows)\s*<\s*{_BROAD}\s*>|\bshouldThrowAny\b|\bassertFails\s*\{{"
    r"|\b(?:catchThrowable|assertThatThrownBy)\s*\("
)
_SCRIPT = re.compile(
    r"\.catch\s*\(|\.then\s*\(|\ballSettled\s*\(|\b_\.attempt\s*\(|\bassert\.throws\s*\(|\)\s*\.\s*(?:to\.throw|toThrow)"
)
_PATTERNS = {
    "java": _JVM,
    "kotlin": _JVM,
    "go": re.compile(r"\bgo\s+func\s*\("),
    "ruby": re.compile(
        r"\bThread\.(?:new|start|fork)\b|\bensure\b|\bsuppress\s*\(|\bfork\s*(?:do\b|\{)|\bFiber\.new\b"
        r"|\bassert_raises?\b[ (]+(?:Minitest::Assertion|Exception|Test::Unit::AssertionFailedError)"
        r"|\braise_error\b"
    ),
    "csharp": re.compile(
        r"\bTask\.(?:Run|Factory\.StartNew)\s*\(|\bnew\s+Thread\s*\(|\bThreadPool\.\w+\s*\(|\bRecord\.Exception\w*\s*\("
        rf"|\bAssert\.(?:Throws|ThrowsAny|ThrowsException|Catch)(?:Async)?\s*(?:<\s*{_BROAD}\s*>|\(\s*\()"
    ),
}  # fmt: skip
_WAITED = {
    "java": re.compile(r"\.(?:get|join|await\w*|invokeAll)\s*\("),
    "kotlin": re.compile(r"\.(?:get|join|await\w*|joinAll|getOrThrow|onFailure|exceptionOrNull|isFailure)\b"),
    "go": re.compile(r"\bWait\s*\(|<-|\bSleep\b|\bEventually\b|\bselect\s*\{"),
    "ruby": re.compile(r"\.(?:join|value|resume|wait)\b|\bProcess\.wait"),
    "csharp": re.compile(r"\bawait\b|\.(?:Wait\w*|Result|GetAwaiter|Join)\b|\bWhenAll\b|WaitOne"),
}
_LOST = re.compile(r"new\s+Thread\b")  # an exception in it ends the thread, and nothing else
_SPEAKS = re.compile(
    r"\b(?:throw|fail\w*|assert\w*|expect\w*|reject|done|raise|panic|push|end|cb|callback|next|should\w*|t\.\w+)\b|[^=!<>]=[^=>]"
)
_QUIET = re.compile(
    r"\s*(?:console\.\w+|_\.noop|noop|\w*[iI]gnore\w{0,20}|Boolean|String|function\b|async\b|\(|\w+\s*=>|\{)"
)
BODIES = frozenset({
    "statement_block", "block", "statement_list", "body_statement", "statements", "function_body", "then", "do_block",
    "program", "source_file", "compilation_unit", "declaration_list", "class_body", "block_body", "else",
})  # fmt: skip


def unheard_work(family: str, code: str, root: Any) -> Iterator[Range]:
    """(start, end, why) of all work whose failures are lost; "aside" where somebody may yet hear of them."""
    if family in SCRIPTS:
        yield from _caught(code, root)
        return
    pattern = _PATTERNS.get(family)
    for match in pattern.finditer(code) if pattern is not None else ():
        node = statement(root, match.start())
        if node is None:
            continue
        said = match.group()
        if said == "ensure":
            yield from _ensured(code, root, match.start())
        elif _is_meant_to_fail(said):
            inner = match.end() if said != "raise_error" else node.start_byte
            first = code.find("{", inner, node.end_byte) if said == "raise_error" else inner
            if first >= 0:
                yield first, node.end_byte, "swallowed"
        elif _LOST.match(said) or not _is_waited_for(family, code, node, match.start()):
            yield node.start_byte, node.end_byte, "aside"


def _is_meant_to_fail(said: str) -> bool:
    return (
        re.match(r"assert|expect|should|Assert|catchThrowable|raise_error|Record|runCatching|suppress", said)
        is not None
    )


def _is_waited_for(family: str, code: str, node: Any, at: int) -> bool:
    """Whether what follows in the same function, or the statement itself, waits for the end of the work."""
    end = node.end_byte
    outer = node.parent
    if family == "go" and re.search(r"\.Done\(|<-|\bclose\(", code[at : node.end_byte]):
        return True
    for _ in range(8):
        if outer is None or outer.parent is None or outer.type in {"source_file", "program", "compilation_unit"}:
            break
        end, outer = outer.end_byte, outer.parent
    last = max(at, code.rfind("end" if family == "ruby" else "}", at, node.end_byte))
    return _WAITED[family].search(f"{code[node.start_byte : at]} {code[last:end]}") is not None


def _ensured(code: str, root: Any, at: int) -> Iterator[Range]:
    """`ensure` with a `return` in it drops whatever was raised."""
    node = root.descendant_for_byte_range(at, at + 1)
    while node is not None and not (node.type == "ensure" and node.is_named):
        node = node.parent
    if node is not None and node.parent is not None and re.search(r"\breturn\b", code[node.start_byte : node.end_byte]):
        yield node.parent.start_byte, node.start_byte, "swallowed"


def _caught(code: str, root: Any) -> Iterator[Range]:
    """Promises with a handler that says nothing, and checks that another check wants to fail."""
    for match in _SCRIPT.finditer(code):
        said = match.group()
        node = root.descendant_for_byte_range(match.end() - 1, match.end())
        while node is not None and node.type != "call_expression":
            node = node.parent
        if node is None:
            continue
        given = node.child_by_field_name("arguments")
        if said.startswith((".catch", ".then")):
            handlers = [] if given is None else [child for child in given.named_children if child.type != "comment"]
            place = 0 if said.startswith(".catch") else 1
            if len(handlers) > place and _is_quiet(code[handlers[place].start_byte : handlers[place].end_byte]):
                yield node.start_byte, handlers[place].start_byte, "swallowed"
        elif said.startswith(")"):
            yield from _thrown(code, root, match.start())
        elif given is not None:
            yield given.start_byte, given.end_byte, "swallowed"


def _thrown(code: str, root: Any, at: int) -> Iterator[Range]:
    """What stands in `expect(() => { … }).toThrow()`."""
    node = root.descendant_for_byte_range(at, at + 1)
    given = None if node is None else node.parent if node.type == ")" else node
    if given is not None and given.type == "arguments":
        yield given.start_byte, given.end_byte, "swallowed"


def _is_quiet(handler: str) -> bool:
    return _QUIET.match(handler) is not None and _SPEAKS.search(handler) is None


def statement(root: Any, at: int) -> Any:
    """The statement around a place."""
    node = root.descendant_for_byte_range(at, at + 1)
    for _ in range(24):
        parent = None if node is None else node.parent
        if parent is None or parent.type in BODIES:
            break
        node = parent
    return node
