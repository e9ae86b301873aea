"""Line rules per language family: what counts as an assertion and as a skip when a text can't be parsed."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from steelyard.scorers.integrity.line_flow import dead_lines, declared
from steelyard.scorers.integrity.mend import mended
from steelyard.scorers.integrity.model import EXACT, TOO_LARGE, TOO_MUCH, Check, Mark, View

# Every pattern takes an unclosed string to the end of its line and an unclosed comment to the end of the text: a
# match never fails after a long look, so hostile text costs linear time.
_DOUBLE = r'"(?:\\.|[^"\\\n])*+"?'
_SINGLE = r"'(?:\\.|[^'\\\n])*+'?"
_CHAR = r"'(?:\\[^\n]{1,8}?|[^'\\\n])'"
_SLASHES = r"//[^\n]*"
_BLOCK = r"/\*.*?(?:\*/|\Z)"


@dataclass(frozen=True)
class Rules:
    """The patterns of one family; `blank` matches what is no code (strings, comments)."""

    blank: re.Pattern[str]
    check: "Rule"
    skip: "Rule"


@dataclass(frozen=True)
class Rule:
    """A pattern, and words of which every match holds one on its line: they are found far sooner.

    `across`: a match may go over several lines, and the words only tell whether there can be one at all.
    """

    words: re.Pattern[str]
    pattern: re.Pattern[str]
    across: bool = False

    def matches(self, code: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
        """Every match in a part of the code."""
        stop = len(code) if end is None else end
        at = start
        while (word := self.words.search(code, at, stop)) is not None:
            low = max(at, code.rfind("\n", at, word.start()) + 1)
            high = code.find("\n", word.end(), stop)
            if self.across:
                low, high = start, stop
            high = stop if high < 0 else high
            yield from self.pattern.finditer(code, low, high)
            at = high


def _rule(words: str, *patterns: str, across: bool = False) -> Rule:
    return Rule(re.compile(words), re.compile("|".join(patterns), re.MULTILINE), across)


def _rules(blank: tuple[str, ...], check: tuple[str, ...], skip: tuple[str, ...], *, across: bool = False) -> Rules:
    """`check` and `skip` are the words of a rule and its patterns."""
    return Rules(re.compile("|".join(blank), re.DOTALL | re.MULTILINE), _rule(*check), _rule(*skip, across=across))


_PYTHON = _rules(
    (r'"""(?:.*?"""|)', r"'''(?:.*?'''|)", _DOUBLE, _SINGLE, r"#[^\n]*"),
    (
        r"assert|fail|raises|warns|deprecated_call",
        r"^[ \t]*assert\b",
        r"(?:;|:)[ \t]*assert\b(?![ \t]*[:=])",
        r"(?<!def )(?<!\w)(?:assert[A-Z_]\w*|assert_\w+|fail(?:If|Unless)\w*)[ \t]*\(",
        r"\b(?:pytest\.)?(?:raises|warns|deprecated_call)[ \t]*\(",
        r"\b(?:pytest|self)\.fail[ \t]*\(",
    ),
    (
        r"skip|Skip|xfail|expectedFailure|__test__|collect_ignore",
        r"\b(?:pytest\.)?mark\.(?:skip|skipif|xfail)\b",
        r"\b(?:pytest\.|unittest\.|self\.|cls\.)(?:skip|xfail|importorskip|skipTest|skipIf|skipUnless)\b(?=[ \t]*\()",
        r"@(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure)\b",
        r"(?<![\w.])(?:skip|skipif|skipIf|skipUnless|xfail|importorskip)[ \t]*\(",
        r"raise[ \t]+(?:\w+\.)*SkipTest\b",
        r"\bpytest\.skip\.Exception\b",
        r"^[ \t]*__test__[ \t]*=[ \t]*False\b",
        r"^[ \t]*collect_ignore(?:_glob)?\b",
    ),
)
_JAVASCRIPT = _rules(
    (_DOUBLE, _SINGLE, r"`(?:\\.|[^`\\])*+`?", _SLASHES, _BLOCK),
    (
        r"expect|assert|should|t\.",
        r"(?<![\w$.])expect(?:\.soft|\.poll)?[ \t]*\(",
        r"(?<![\w$.])assert(?!\.expect\b)(?:\.\w+)*[ \t]*\(",
        (
            r"(?<![\w$.])t\.(?:assert|is|not|(?:not)?(?:deep|strict|loose|deepStrict|deepLoose)?(?:[eE]quals?|[sS]ame)|(?:un)?like"
            r"|not(?:Deep|Strict|Loose)?(?:Equal|Same)|truthy|falsy|true|false|(?:notT|t|doesNotT)hrows(?:Async)?|(?:notR|r)egex"
            r"|snapshot|pass|fail|(?:notO|o)k|(?:notM|m)atch(?:Snapshot)?|rejects|resolves|error|ifError|type|has|hasStrict)"
            r"[ \t]*\("
        ),
        r"(?<![\w$.])(?:chai|sinon|self|this|window|console|context|t)?\.?assert(?!\.expect\b)(?:\.\w+)+[ \t]*\(",
        r"\.should\b(?=[.(])|(?<![\w$.])should\(",
        r"^[ \t]*\.expect[ \t]*\(",
        r"\)[ \t]*\.expect[ \t]*\(",
    ),
    (
        r"\[|skip|runIf|todo|only|fail|fixme|x(?:it|test|desc|cont|spec)|f(?:it|desc|cont)|pending",
        (
            r"(?<![\w$])(?:it|test|describe|suite|context|specify)(?:\.\w+)*\.(?:skip|skipIf|runIf|todo|only|failing|fails"
            r"|fixme)\b"
        ),
        r"(?<![\w$.])(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext|pending)[ \t]*\(",
        r"(?<![\w$.])(?:it|test|describe)\[[ \t]*[\"']",
        r"\bthis\.skip[ \t]*\(",
        r"(?<![\w$])(?:t|ctx|context)\.(?:skip|todo)[ \t]*\(",
        r"[{,][ \t]*(?:skip|todo|only)[ \t]*:[ \t]*+(?!false\b|undefined\b|null\b)",
        r"^[ \t]*(?:skip|todo)[ \t]*:[ \t]*+(?!false\b|undefined\b|null\b)",
    ),
)
_GO = _rules(
    (_DOUBLE, r"`[^`]*+`?", _CHAR, r"//(?!go:build|[ ]?\+build)[^\n]*", _BLOCK),
    (
        r"\.[A-Z(]|Expect|Eventually|Consistently|Ω",
        r"(?<![\w.])(?!fmt\.)\w*[tTbBfF]\w{0,3}\.(?:(?:Errorf|Fatal|Fatalf|Fail|FailNow)\(|Error\((?!\)))|(?<![\w.])[tb]\.Error\(",
        r"(?<![\w.])(?:assert|require|is|check|must|qt|td|assertions?)\.[A-Z]\w*\(",
        (
            r"(?<![\w.])(?:s|suite|ts|tt)\.(?:(?:Require|Assert)\(\)\.)?(?:Equal|NoError|Error|True|False|Nil|NotNil|Contains"
            r"|Len|Empty|NotEmpty|ErrorIs|ErrorContains|ElementsMatch|Greater|Less|NotEqual|Eventually|Panics)\w*\("
        ),
        (
            r"^[ \t]*(?!(?:s|suite|ts|tt|assert|require|is|check|must|qt|td|assertions?)\.)[a-z]\w{0,15}\."
            r"(?:Equal(?:Values|Error)?|NoError|Error(?:Is|As|Contains)|True|False|Nil|NotNil|Contains|Len|Empty|NotEmpty"
            r"|ElementsMatch|Greater|Less|NotEqual|Eventually|Panics)f?\("
        ),
        r"(?<![\w.])(?:Expect|Eventually|Consistently|Ω)(?:WithOffset)?\(",
    ),
    (
        r"Skip|//go:build|// ?\+build|[XPF](?:It|Describe|Context)\(",
        r"(?<![\w.])\w+\.(?:Skip|Skipf|SkipNow)\(",
        r"^//go:build\b[^\n]*(?:\n// ?\+build\b[^\n]*)*",
        r"^// ?\+build\b[^\n]*",
        r"(?<![\w.])(?:XIt|XDescribe|XContext|PIt|PDescribe|PContext|FIt|FDescribe|FContext|Skip)\(",
    ),
    across=True,
)
_JVM = _rules(
    (r'"""(?:.*?"""|)', _DOUBLE, _CHAR, _SLASHES, _BLOCK),
    (
        r"assert|verify|Verify|fail|[eE]xpect|should|then",
        r"(?<![\w@])(?<!void )(?<!fun )assert(?!ions?\b)[A-Z]\w*(?:<[^>\n]{0,80}>)?[ \t]*[({]",
        r"^[ \t]*assert\b(?=[ \t]*[^\s.=])",
        (
            r"(?<![\w@])(?<!void )(?<!fun )(?<!\)\.)(?<![ \t]\.)(?:verify|verifyNo\w+|fail|expectThrows"
            r"|expectError|shouldThrow|coVerify)[ \t]*[({]"
        ),
        r"\.(?:should(?:Be|Not|Have|Contain|Throw)\w*|expectNext\w*|expectComplete|verifyComplete|andExpect)[ \t]*\(",
        r"(?<![\w.])(?:expectThat|then|expect)[ \t]*\((?![^\n]{0,400}\.[ \t]*and(?:Return|Stub|Throw|Answer|Void))",
        r"\bshould(?:Be|Not|Have|Contain|Throw)\w*\b(?=[ \t]+[\w\"({])",
    ),
    (
        r"@|assum|enabled|SkipException|x(?:it|describe|context|test)",
        r"@(?:org\.[\w.]+\.)?(?:Ignore|Disabled\w*|Enabled(?:If|On)\w*|IgnoreIf|Requires|PendingFeature)\b",
        r"(?<![\w@])(?:assum(?:e|ing)[A-Z]\w*|assumingThat)[ \t]*\(",
        r"\benabled[ \t]*=[ \t]*false\b",
        r"\bSkipException\b(?=[ \t]*\()",
        r"(?<![\w.])(?:xit|xdescribe|xcontext|xtest)[ \t]*\(",
    ),
)
_RUBY = _rules(
    (_DOUBLE, _SINGLE, r"(?<![\w$&])#(?!\{)[^\n]*", r"^=begin\b.*?(?:^=end\b[^\n]*|\Z)"),
    (
        r"assert|refute|flunk|expect|should|must_|wont_",
        r"(?<![\w.:@])(?<!def )(?:assert|refute|flunk)(?:_\w+)?[!?]?(?=[ \t]*\(|[ \t]+[^\s=.]|[ \t]*\{|[ \t]*$)",
        r"(?<![\w.:@])(?:expect|is_expected)\b(?=[ \t]*[({.]|[ \t]+do\b)",
        r"\.(?:should|should_not|must_\w+|wont_\w+)\b",
        r"(?<![\w.:@])should(?:_not)?[ \t]+(?=\w)(?!do\b)",
    ),
    (
        r"skip|pending|omit|focus|test_|if|unless|x(?:it|desc|cont|spec|exam)|f(?:it|desc|cont|spec)",
        (
            r"(?<![\w.:@])(?:skip|pending|omit|skip_if|skip_unless)\b"
            r"(?=[ \t]*\(|[ \t]+[^\s=.]|[ \t]*$)(?![ \t]*(?:[,=]|:\W)|:)"
        ),
        (
            r"(?<![\w.:@])(?:xit|xdescribe|xcontext|xspecify|xexample|fit|fdescribe|fcontext|fspecify|focus)\b"
            r"(?=[ \t]*\(|[ \t]+[^\s=.])"
        ),
        r"(?:\bskip|\bpending|\bfocus|\bxit)[ \t]*:[ \t]*+(?!false\b|nil\b)",
        r":(?:skip|pending|focus)\b[ \t]*=>[ \t]*+(?!false\b|nil\b)",
        r",[ \t]*:(?:skip|pending|focus)\b",
        r",[ \t]*(?:if[ \t]*:[ \t]*(?:false|nil)|unless[ \t]*:[ \t]*true)\b",
        r"^[ \t]*(?:undef_method|remove_method|undef|private)[ \t(]+:?test_\w+",
    ),
)
_RUST = _rules(
    (r'\br#+".*?(?:"#|\Z)', r'\br"[^"]*+"?', r'"(?:\\.|[^"\\])*+"?', _CHAR, _SLASHES, _BLOCK),
    (
        r"assert|should_panic",
        r"(?<![\w!])(?:debug_)?(?:\w{1,40}_)?assert\w*![ \t]*[(\[{]",
        r"#\[[ \t]*should_panic\b",
    ),
    (
        r"ignore",
        r"#\[[ \t]*ignore\b",
        r"#\[[ \t]*cfg_attr[ \t]*\([^\[\]]{0,400}?\bignore\b",
    ),
    across=True,
)
_CSHARP = _rules(
    (r'@"(?:[^"]|"")*+"?', r'"""(?:.*?"""|)', _DOUBLE, _CHAR, _SLASHES, _BLOCK),
    (
        r"Assert|Check|Verify|Should|Must|Received|DidNotReceive|Expect",
        (
            r"(?<![\w.])(?:\w*Assert|Check|Verify)\.(?!Skip|Ignore|Inconclusive|Warn)(?:That\.)?[A-Z]\w*"
            r"(?:<[^()\n]{0,80}>)?[ \t]*\("
        ),
        r"\.(?:Should|Must)(?:[A-Z]\w*)?(?:<[^()\n]{0,80}>)?[ \t]*\(",
        r"\.(?:Verify|VerifyAll|VerifyNoOtherCalls|Received|DidNotReceive)(?:<[^()\n]{0,80}>)?[ \t]*\(",
        (
            r"(?<![\w.])(?<!void )(?<!Task )(?<!bool )(?<!\w> )"
            r"(?:Assert\w+|Expect|Verify)(?:<[^()\n]{0,80}>)?[ \t]*\((?![^\n]{0,200}\{[ \t]*$)"
        ),
        r"^[ \t]*(?:await[ \t]+)?(?:this\.)?Should[A-Z]\w*(?:<[^()\n]{0,80}>)?[ \t]*\(",
    ),
    (
        r"Ignore|Explicit|Platform|Skip|Assume|Inconclusive",
        (
            r"\[(?:[^\[\]\n]{0,200},[ \t]*)?(?:NUnit\.Framework\.)?(?:Ignore|Explicit|Platform)(?:Attribute)?"
            r"(?=[ \t]*[\](,])"
        ),
        r"\bExplicit[ \t]*=[ \t]*true\b",
        r"\bSkip[ \t]*=(?!=)[ \t]*+(?!null\b)",
        r"\b(?:Assert|Assume)\.(?:Ignore|Inconclusive|Skip\w*|That)\b(?<!Assert\.That)[ \t]*\(",
        r"\bSkip\.(?:If|IfNot|Unless|When)\b[ \t]*\(",
        r"\bIgnore(?:Reason)?[ \t]*=[ \t]*@?\"",
    ),
)

RULES: dict[str, Rules] = {
    "python": _PYTHON, "javascript": _JAVASCRIPT, "typescript": _JAVASCRIPT, "tsx": _JAVASCRIPT, "go": _GO,
    "java": _JVM, "kotlin": _JVM, "ruby": _RUBY, "rust": _RUST, "csharp": _CSHARP,
}  # fmt: skip


def blanked(match: re.Match[str]) -> str:
    """What is no code, emptied: quotes and line ends stay, so that lines keep their numbers."""
    text = match.group()
    if text[0] in "#/":
        return "\n" * text.count("\n")
    return text[0] + "\n" * text.count("\n") + text[-1] if len(text) > 1 else text


def line_view(family: str, text: str, note: str = "", strength: Callable[[str], int] = lambda _: EXACT) -> View:
    """Every check and skip that the family's line rules see in the text."""
    rules = RULES[family]
    # What is whole and merely large was cut nowhere.
    code = rules.blank.sub(blanked, text if note in {TOO_LARGE, TOO_MUCH} else mended(family, text))
    starts = [0, *(match.end() for match in re.finditer("\n", code))]
    dead = {} if family == "python" else dead_lines(family, code)
    tests = () if family == "python" else declared(family, code, dead)
    checks: list[Check] = []
    for line, said, count in _hits(rules.check, code, starts):
        checks += [Check(line, said, "", strength(said), dead.get(line - 1, ""))] * count
    skips: list[Mark] = []
    for line, said, count in _hits(rules.skip, code, starts):
        skips += [Mark(line, said)] * count
    return View("lines", tuple(checks), tuple(skips), tests, note)


def silenced(family: str, before: str, after: str) -> tuple[int, int]:
    """How many lines of code became part of a block comment, and where the first such comment begins."""
    blank = RULES[family].blank
    was, now = (Counter(_lines(blank.sub(blanked, mended(family, text)))) for text in (before, after))
    lost = was - now
    count = first = 0
    text = mended(family, after)
    for match in blank.finditer(text):
        said = match.group()
        if said.startswith(("/*", "=begin")):
            here = lost & Counter(_lines(blank.sub(blanked, said[2:].removesuffix("*/"))))
            if here.total():
                first = first or text.count("\n", 0, match.start()) + 1
                count += here.total()
                lost -= here
    return count, first


def _lines(code: str) -> list[str]:
    return [line.strip() for line in code.split("\n") if line.strip()]


def _hits(rule: Rule, code: str, starts: list[int]) -> Iterator[tuple[int, str, int]]:
    """(line, what it says, how many matches) of every line with matches; a line may hold very many."""
    lines = Counter(bisect_right(starts, first_sign(match)) for match in rule.matches(code))
    for line, count in lines.items():
        end = code.find("\n", starts[line - 1])
        yield line, code[starts[line - 1] : end if end >= 0 else len(code)].strip()[:200], count


def first_sign(match: re.Match[str]) -> int:
    """Where a match begins, the layout before it left out."""
    said = match.group()
    return match.start() + len(said) - len(said.lstrip())
