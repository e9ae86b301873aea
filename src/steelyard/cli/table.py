"""Tables for people: drawn by rich on a terminal, plain aligned text elsewhere."""

import sys
from collections.abc import Sequence

from steelyard.cli.output import plain


def one_line(text: str) -> str:
    """A text that stays in its cell: no line breaks, no tabs, no terminal codes."""
    return plain(text.replace("\n", "\\n").replace("\t", "\\t"))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their heads; what an agent wrote in them is shown as text."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _drawn(heads, cells)
        return
    widths = [max(len(row[i]) for row in [list(heads), *cells]) for i in range(len(heads))]
    for row in [list(heads), *cells]:
        sys.stdout.write("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")


def _drawn(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"PASS": "green", "FAIL": "red", "COMPLETED": "green", "BLOCKED": "yellow", "FAILED": "red"}
    colours |= {"PASSED": "red", "FAILS": "red", "ERROR": "red", "caught": "green", "passes": "green"}
    table = Table(*heads, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell, style=colours.get(cell.split(" ")[0], "")) for cell in row))
    Console().print(table)
