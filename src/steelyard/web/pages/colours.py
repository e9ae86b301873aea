"""Syntax colours, line by line and within bounds: what an agent wrote can't keep a server thinking."""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

from markupsafe import Markup

from steelyard.web.pages.text import LINE, visible

LONGEST = 400  # characters of a line that is coloured
BUDGET_S = 0.4
_LEXERS = {
    "py": "Python",
    "pyi": "Python",
    "js": "Javascript",
    "mjs": "Javascript",
    "jsx": "Javascript",
    "ts": "TypeScript",
    "tsx": "TypeScript",
    "json": "Json",
    "yaml": "Yaml",
    "yml": "Yaml",
    "toml": "TOML",
    "sh": "Bash",
    "bash": "Bash",
    "go": "Go",
    "rs": "Rust",
    "java": "Java",
    "kt": "Kotlin",
    "c": "C",
    "h": "C",
    "cc": "Cpp",
    "cpp": "Cpp",
    "hpp": "Cpp",
    "cs": "CSharp",
    "rb": "Ruby",
    "css": "Css",
    "sql": "Sql",
}
_CLASSES = {
    "Keyword": "k",
    "String": "s",
    "Comment": "c",
    "Number": "n",
    "Name.Function": "f",
    "Name.Class": "f",
    "Name.Builtin": "b",
    "Name.Decorator": "b",
    "Operator.Word": "k",
    "Name.Tag": "k",
    "Name.Attribute": "f",
}


def painter(path: str) -> Callable[[str], Markup]:
    """A function that colours the lines of one file, as long as its time lasts; then they stay plain."""
    lexer = _lexer(path.rpartition(".")[2].lower())
    ends = time.monotonic() + BUDGET_S

    def paint(line: str) -> Markup:
        if lexer is None or len(line) > LONGEST or time.monotonic() > ends:
            return Markup.escape(visible(_cut(line)))
        pieces = []
        for kind, value in lexer.get_tokens(visible(line)):
            piece = Markup.escape(value.rstrip("\n"))
            name = _class(str(kind))
            pieces.append(Markup('<i class="{}">{}</i>').format(name, piece) if name and piece else piece)
        return Markup("").join(pieces)

    return paint


def _cut(line: str) -> str:
    return line if len(line) <= LINE else f"{line[:LINE]} … {len(line) - LINE:,} more characters"


@cache
def _lexer(ending: str) -> Any:
    name = _LEXERS.get(ending)
    if name is None:
        return None
    try:
        import pygments.lexers as lexers
    except ImportError:
        return None
    return getattr(lexers, f"{name}Lexer")(stripnl=False, stripall=False, ensurenl=True)


@cache
def _class(kind: str) -> str:
    """`Token.Literal.String.Doc` and its like as one of our few classes."""
    return next((css for name, css in _CLASSES.items() if name in kind), "")
