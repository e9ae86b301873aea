"""Code under test in other languages, by line rules: equal to all, gone when loaded, patching, telling tests apart."""

import re
from collections.abc import Iterator

from steelyard.scorers.harness.code_rules import RULES, WRITES
from steelyard.scorers.harness.js_patches import reach_signs
from steelyard.scorers.harness.meter import spend
from steelyard.scorers.harness.model import Context, Sign, names_test
from steelyard.scorers.harness.paths import is_test

_COMMENT = re.compile(r"/\*|(?<![:\"'`\\])//[^\n]*")
_LONGEST_COMMENT = 20_000
_HASH_COMMENT = re.compile(r"(?m)^[^\S\n]*+#[^\n]*")
FAMILIES = {"typescript": "javascript", "tsx": "javascript", "kotlin": "java"}
_SETTINGS = re.compile(
    r"(?:^|/)(?:config|db|spec|test)/|\.(?:rake|ru)$"
)  # of Rails, which has one for each environment
_DECLARES = re.compile(r"\.d(?:\.[\w-]+)?\.[cm]?ts$")  # types only
_TOOLING = re.compile(
    r"(?:^|/)(?:scripts?|bin|tools?|examples?|benchmarks?|docs?)/|\.config\.\w+$|rc\.[cm]?js$|(?:^|/)(?:gulpfile"
    r"|Gruntfile|webpack[\w.]*|rollup[\w.]*)\."
)


def other_signs(text: str, family: str, context: Context) -> Iterator[Sign]:
    """The signs of one source file that is not Python."""
    family = FAMILIES.get(family, family)
    if is_test(context.path) or _DECLARES.search(context.path) or _TOOLING.search(context.path):
        return
    code = _HASH_COMMENT.sub(_blank, text) if family == "ruby" else text if family == "go" else _uncommented(text)
    own = set(_OWN.findall(code)) if family == "javascript" else set()
    for rule, table, means in RULES:
        expression = table.get(family)
        for match in expression.finditer(code) if expression is not None else ():
            shown = " ".join(match[0].split())
            if shown.startswith(("Rails", "ENV")) and _SETTINGS.search(context.path):
                continue
            if not (family == "javascript" and _is_own_name(shown, match, code, own)):
                yield Sign(rule, shown, shown, code.count("\n", 0, match.start()) + 1, means)
    yield from _writes(code, family, context)
    yield from _twins(code) if family == "rust" else ()
    if family == "javascript" and not is_helper(context.path):
        yield from _imports(code)
        yield from reach_signs(code)
    if family == "javascript" and not code.startswith("#!"):
        yield from _exits(code)


_TWIN = re.compile(
    r"#\[\s*+cfg\s*+\(\s*+(test|not\s*+\(\s*+test\s*+\))\s*+\)\s*+\]\s*+(?:pub(?:\([^)]{0,40}\))?\s++)?(?:fn|mod|struct|const|static|type)\s++(\w{1,80})"
)


def _twins(code: str) -> Iterator[Sign]:
    """Rust that is one thing in tests and another one without."""
    found = list(_TWIN.finditer(code))
    without = {match[2] for match in found if match[1] != "test"} - {"tests", "test"}
    for match in found:
        if match[1] == "test" and match[2] in without:
            line = code.count("\n", 0, match.start()) + 1
            said = f"{match[2]} is another one when tests run"
            yield Sign("under-test", match[2], " ".join(match[0].split()), line, said)


_OWN = re.compile(r"(?m)^(?:export\s++(?:default\s++)?)?function\s++(assert|expect)\s*+\(")
_OWN_NAME = re.compile(r"(assert|expect)\.\w+ ?=")
MINIFIED = 1000  # characters in a line; there a name of two letters is any variable


def _is_own_name(shown: str, match: re.Match[str], code: str, own: set[str]) -> bool:
    """Whether a name is one that this file gave: a function of its own, or what a minifier made of a variable."""
    named = _OWN_NAME.fullmatch(shown)
    if named:
        return named[1] in own
    near = code[max(0, match.start() - MINIFIED // 2) : match.end() + MINIFIED // 2]
    return shown in ("typeof it", "typeof vi") and len(near) >= MINIFIED and "\n" not in near


def _writes(code: str, family: str, context: Context) -> Iterator[Sign]:
    """Tests of the baseline that the code writes, removes or moves."""
    expression = WRITES.get(family)
    for match in expression.finditer(code) if expression is not None else ():
        if names_test(match[1], context):
            shown, line = " ".join(match[0].split()), code.count("\n", 0, match.start()) + 1
            yield Sign("rewritten-tests", match[1], shown, line, f"the code writes a test: {match[1]}")


_HELPER = re.compile(
    r"test|mock|fixture|spec|stor(?:y|ies)|setup|bench|e2e|cypress|playwright|fake|stub", re.IGNORECASE
)
_IMPORTS = re.compile(
    r"(?:\bfrom\s*+|(?<!\.)\brequire\(\s*+|\bimport\(\s*+|\bimport\s++)[\"'`]"
    r"(vitest|@jest/globals|@vitest/[\w-]{1,40}|chai|expect|jest-circus|mocha)(?:/[^\"'`\n]{1,80})?[\"'`]"
)


def is_helper(path: str) -> bool:
    """Whether a name says that a file is there for tests."""
    return _HELPER.search(path) is not None


def _imports(code: str) -> Iterator[Sign]:
    """Code under test that reaches for the library which tests it; types alone change nothing."""
    for match in _IMPORTS.finditer(code):
        if not re.search(r"\btype\b[^;\n]*$", code[max(0, match.start() - 200) : match.start()]):
            line = code.count("\n", 0, match.start()) + 1
            yield Sign("patched-runner", match[1], match[0], line, f"the code under test loads {match[1]}")


def _uncommented(text: str) -> str:
    """The code without its comments; what opens one that never closes is no comment."""
    parts: list[str] = []
    at, close = 0, 0
    while (match := _COMMENT.search(text, at)) is not None:
        parts.append(text[at : match.start()])
        at = match.end()
        if match[0] == "/*":
            close = text.find("*/", at) if 0 <= close < at else close
            if 0 <= close <= at + _LONGEST_COMMENT:
                parts.append("\n" * text.count("\n", at, close))
                at = close + 2
            else:
                parts.append("/*")
    return "".join([*parts, text[at:]])


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


_TOKEN = re.compile(
    r"'(?:\\.|[^'\\\n]){0,2000}'|\"(?:\\.|[^\"\\\n]){0,2000}\"|`[^`]{0,5000}`|[{}]|\bprocess\.(?:exit|abort"
    r"|reallyExit|kill)\s*+\("
)
_CONTROL = re.compile(
    r"(?:\b(?:if|for|while|switch|catch|with)\s*+\([^;{}]*\)|\b(?:else|try|finally|do))\s*$|^\s*$|[;}]\s*$"
)


def _exits(code: str) -> Iterator[Sign]:
    """`process.exit` that runs when a module is loaded: inside nothing but control blocks."""
    if "process." not in code:
        return
    stack: list[bool] = []
    last = 0
    for match in _TOKEN.finditer(code):
        piece = match[0]
        if piece == "{":
            spend(2)
            stack.append(_CONTROL.search(code[max(last, match.start() - 300) : match.start()]) is not None)
            last = match.end()
        elif piece == "}":
            if stack:
                stack.pop()
            last = match.end()
        elif piece.startswith("process.") and all(stack):
            code_given = code[match.end() : match.end() + 20].partition(")")[0].strip()
            arrow = re.search(r"(?:=>|function\b[^{;]*)\s*$", code[max(0, match.start() - 60) : match.start()])
            if not arrow and (not stack or code_given in ("", "0")):
                shown = f"{piece}{code_given})"
                yield Sign(
                    "exit-at-import",
                    shown,
                    shown,
                    code.count("\n", 0, match.start()) + 1,
                    "it ends the process when it is loaded",
                )
