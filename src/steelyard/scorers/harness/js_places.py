"""Where JavaScript runners look: directories and expressions that miss tests, names that lead to other files."""

import posixpath
import re
from collections.abc import Iterable, Iterator

from steelyard.scorers.harness.meter import spend
from steelyard.scorers.harness.model import Context, Sign
from steelyard.scorers.harness.paths import is_test, is_vendored
from steelyard.scorers.integrity.paths import SCRIPTS, family_of

PLACES = ("roots", "rootDir", "dir", "root")
_OTHER_RUNNERS = re.compile(r"(?:^|/)(?:e2e|cypress|playwright|dist|build)(?:/|$)|\.(?:e2e|cy)[.-]|e2e-spec")
_PLAIN = re.compile(r"[\w@./-]{1,300}")


def place_signs(key: str, words: Iterable[str], shown: str, line: int, context: Context) -> Iterator[Sign]:
    """A directory to look for tests in that does not hold those of the baseline."""
    folders = [posixpath.normpath(word.replace("<rootDir>", ".").strip() or ".") for word in words]
    if not folders or any(not _PLAIN.fullmatch(one) or one.startswith(("..", "/")) for one in folders):
        return
    if key == "dir" and not context.name.startswith(("vitest.", "package.json")):
        return
    tests = _own(context)
    spend(len(tests) * len(folders) // 4)
    left = [test for test in tests if not any(one == "." or test.startswith(f"{one}/") for one in folders)]
    if left:
        yield Sign("collection-setting", f"{key} {' '.join(folders)}", shown, line, f"{key} leaves out {left[0]}")


def part_signs(key: str, words: Iterable[str], shown: str, line: int, context: Context) -> Iterator[Sign]:
    """One directory of tests beside which there are others: what a runner of its own was given may be all of them."""
    for word in words:
        folder = posixpath.normpath(word)
        above = posixpath.dirname(folder)
        spend(1 + len(context.script_tests) // 4)
        left = [
            test for test in context.script_tests if test.startswith(f"{above}/") and not test.startswith(f"{folder}/")
        ]
        if above and not above.startswith("..") and left:
            yield Sign("collection-setting", f"{key} {folder}", shown, line, f"{key} leaves out {left[0]}")


def expression_signs(key: str, words: Iterable[str], shown: str, line: int, context: Context) -> Iterator[Sign]:
    """An expression for the names of tests whose own letters some of the baseline's tests do not have.

    It is never run: whoever wrote it may have made it slow.
    """
    choices = [choice for word in words for choice in _choices(word)]
    tests = _own(context)
    spend(len(tests) * len(choices) // 2)
    left = [test for test in tests if not any(all(piece in f"/{test}" for piece in one) for one in choices)]
    if choices and left:
        yield Sign("collection-setting", f"{key} {shown}", shown, line, f"{key} leaves out {left[0]}")


_EXPRESSION = re.compile(
    r"'([^'\n]{0,300})'|\"([^\"\n]{0,300})\"|`([^`\n]{0,300})`|/((?:\\.|\[[^\]\n]{0,100}\]|[^/\n\\\[]){1,300})/"
)


def expressions(value: str) -> list[str]:
    """The expressions in a value: strings, or between slashes."""
    return [next(filter(None, found), "") for found in _EXPRESSION.findall(value)]


_GROUP = re.compile(r"\((?:\?:)?([^()|?]*)\)(?![?*{])|\([^()]*\)[?*+]?(?:\{[^}]*\})?")


def _choices(word: str) -> list[list[str]]:
    """For each alternative of an expression, the pieces of plain text that must stand in what it matches."""
    text = re.sub(r"\[[^\]]*\][?*+]?", "\n", word[:300].replace("\\\\", "\\"))
    text = re.sub(r"\\[a-zA-Z][?*+]?", "\n", text)
    text = re.sub(r"\\(.)([?*])?", lambda found: "\n" if found[2] else {".": "\t"}.get(found[1], found[1]), text)
    while "(" in text:
        fewer = _GROUP.sub(lambda found: found[1] if found[1] is not None else "\n", text, count=1)
        if fewer == text:
            break
        text = fewer
    text = re.sub(r".[?*]|.\{[^}]*\}", "\n", text)
    parts = [re.split(r"[\n.^$+?*(){}]+", one) for one in text.split("|")]
    return [[piece.replace("\t", ".") for piece in one if piece] for one in parts]


def _own(context: Context) -> list[str]:
    return [test for test in context.script_tests if not _OTHER_RUNNERS.search(test)]


_TABLE = re.compile(r"[\"']?\b(?:moduleNameMapper|alias)[\"']?\s*+:\s*+(?=[\[{])")
_ENTRY = re.compile(
    r"(?:find\s*+:\s*+)?(?:[\"'`]([^\"'`\n]{1,200})[\"'`]|/((?:\\.|[^/\n]){1,200})/|([A-Za-z_$][\w$]{0,60}))"
    r"\s*+(?:,\s*+replacement\s*+)?:\s*[^\"'`}\n]{0,80}?[\"'`]([^\"'`\n]{1,200})[\"'`]"
)
MOST = 4000


def fake_signs(text: str, context: Context) -> Iterator[Sign]:
    """A name of the code under test that is made to mean another file of the tree."""
    tables = list(_TABLE.finditer(text))
    spend(200 * len(tables))
    if not tables:
        return
    stems = _stems(context)
    for table in tables:
        value = text[table.end() : table.end() + MOST]
        for match in _ENTRY.finditer(value[: _end(value)]):
            core = _core(match[1] or match[2] or match[3])
            if core in stems and _is_other(core, match[4], context):
                line = text.count("\n", 0, table.end() + match.start()) + 1
                shown = " ".join(match[0].split())
                yield Sign("replaced-code", core, shown, line, f"{core} is replaced by {match[4]}")


def _end(value: str) -> int:
    """Where the bracket that opens a value is closed."""
    depth = 0
    for at, char in enumerate(value):
        depth += (char in "[{") - (char in "]}")
        if depth == 0:
            return at
    return len(value)


def _core(name: str) -> str:
    """The last part of a name, without the marks of expressions and without its suffix."""
    plain = re.sub(r"\([^)]*\)[?*+]?|\.[*+]|\\(?=.)|[\^$]", "", name)
    return re.sub(r"\.[cm]?[jt]sx?$", "", plain.rstrip("/").rpartition("/")[2])


def _stems(context: Context) -> frozenset[str]:
    """The names of the baseline's own code in JavaScript and TypeScript."""
    spend(len(context.baseline_files) // 4)
    own = (path for path in context.baseline_files if family_of(path) in SCRIPTS)
    named = (path for path in own if not is_test(path) and not is_vendored(path))
    return frozenset(posixpath.splitext(posixpath.basename(path))[0] for path in named) - {"index"}


def _is_other(core: str, target: str, context: Context) -> bool:
    """Whether a file of the tree is not the code of that name: not in the baseline, or called something else."""
    if not target.startswith((".", "<rootDir>", "/")) and not re.search(r"\.[cm]?[jt]sx?$", target):
        return False
    place = posixpath.normpath(context.folder + target.replace("<rootDir>", ".").lstrip("/"))
    if "$" in target or place.startswith(".."):
        return False
    if core not in re.split(r"[/.]", place):
        return True
    known = {place, *(f"{place}{end}" for end in (".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs"))}
    return known.isdisjoint(context.baseline_files) and not any(
        path.startswith(f"{place}/") for path in context.baseline_files
    )
