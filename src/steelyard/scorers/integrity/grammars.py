"""What the syntax of each family looks like to tree-sitter: which wheel, which nodes are no code, which are tests."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any


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
    return Loaded(language, core.Query(language, "\n".join([*parts, grammar.rows])))
