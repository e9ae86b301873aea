"""What the syntax of each family looks like to tree-sitter: which wheel, which nodes are no code, which are tests."""

import time
import warnings
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from steelyard.scorers.integrity.tree_cases import TABLES
from steelyard.scorers.integrity.tree_conditions import QUERIES, kind_of


@dataclass(frozen=True)
class Grammar:
    """One family. `quiet` are nodes without code in them; `functions` are nodes that may be tests by themselves."""

    module: str
    entry: str = "language"
    quiet: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    rows: str = ""


_SCRIPT = ("comment", "string_fragment", "regex_pattern", "html_comment")
GRAMMARS: dict[str, Grammar] = {
    "javascript": Grammar("tree_sitter_javascript", quiet=(*_SCRIPT, "jsx_text")),
    "typescript": Grammar("tree_sitter_typescript", "language_typescript", quiet=_SCRIPT),
    "tsx": Grammar("tree_sitter_typescript", "language_tsx", quiet=(*_SCRIPT, "jsx_text")),
    "go": Grammar(
        "tree_sitter_go",
        quiet=("comment", "interpreted_string_literal", "raw_string_literal", "rune_literal"),
        functions=("function_declaration", "method_declaration"),
        rows="(composite_literal type: [(slice_type) (map_type)] body: (literal_value) @rows)",
    ),
    "java": Grammar(
        "tree_sitter_java",
        quiet=("line_comment", "block_comment", "string_fragment", "multiline_string_fragment", "character_literal"),
        functions=("method_declaration",),
    ),
    "kotlin": Grammar(
        "tree_sitter_kotlin",
        quiet=("line_comment", "block_comment", "string_content", "character_literal"),
        functions=("function_declaration",),
    ),
    "ruby": Grammar("tree_sitter_ruby", quiet=("comment", "string_content", "heredoc_content"), functions=("method",)),
    "rust": Grammar(
        "tree_sitter_rust",
        quiet=("line_comment", "block_comment", "string_content", "char_literal"),
        functions=("function_item",),
    ),
    "csharp": Grammar(
        "tree_sitter_c_sharp",
        quiet=(
            "comment", "string_literal_content", "verbatim_string_literal", "raw_string_literal", "string_content",
            "character_literal", "preproc_if_in_expression",
        ),
        functions=("method_declaration", "local_function_statement"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Loaded:
    """A grammar that is installed: its language and the query that finds the nodes we ask for."""

    language: Any
    query: Any


@cache
def load(family: str) -> Loaded | None:
    """The grammar of a family; None when its wheel is not installed (`pip install steelyard[syntax]`)."""
    grammar = GRAMMARS.get(family)
    if grammar is None:
        return None
    try:
        core = import_module("tree_sitter")
        language = core.Language(getattr(import_module(grammar.module), grammar.entry)())
    except (ImportError, AttributeError, ValueError, OSError):
        return None
    parts = [f"({kind}) @quiet" for kind in grammar.quiet if language.id_for_node_kind(kind, True) is not None]
    parts += [f"({kind}) @function" for kind in grammar.functions]
    return Loaded(
        language,
        core.Query(language, "\n".join([*parts, grammar.rows, QUERIES[kind_of(family)], TABLES[kind_of(family)]])),
    )


# What parses takes about a third of a microsecond a byte. What does not may take tree-sitter quadratic time to recover.
MICROSECONDS, MICROSECONDS_A_BYTE = 20_000, 1
TRIES = 5


def parsed(loaded: Loaded, raw: bytes) -> Any:
    """The tree of a text; None when there is none, `TimeoutError` when it takes far longer than text that parses.

    The parser looks at the clock on the wall. A try in which this thread hardly ran says nothing and is made again.
    """
    from tree_sitter import Parser

    limit = MICROSECONDS + MICROSECONDS_A_BYTE * len(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the way that replaces it crashes on bytes
        parser = Parser(loaded.language, timeout_micros=limit)
    for _ in range(TRIES):
        begun, ran = time.monotonic(), time.thread_time()
        try:
            return parser.parse(raw)
        except MemoryError:
            return None
        except ValueError:
            if time.monotonic() - begun < limit / 1e6:
                return None
            if time.thread_time() - ran > limit / 2e6:
                raise TimeoutError from None
            parser.reset()
    raise TimeoutError
