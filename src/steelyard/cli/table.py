"""Tables for people: drawn by rich on a terminal, plain aligned text elsewhere."""

import sys
from collections.abc import Sequence

from steelyard.cli.output import plain

_COPIED = ("run", "id")  # what other commands are given
_GAP = 3


def one_line(text: str) -> str:
    """A text that stays in its cell: no line breaks, no tabs, no terminal codes."""
    return plain(text.replace("\n", "\\n").replace("\t", "\\t"))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str] = ()) -> None:
    """Print rows under their heads; what an agent wrote in them is shown as text.

    On a terminal too narrow for all of them, the `spare` columns are left out one by one; names to be copied never are.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _drawn(heads, cells, spare)
        return
    widths = [max(len(row[i]) for row in [list(heads), *cells]) for i in range(len(heads))]
    for row in [list(heads), *cells]:
        sys.stdout.write("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")


def _drawn(heads: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str]) -> None:
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"PASS": "green", "FAIL": "red", "COMPLETED": "green", "BLOCKED": "yellow", "FAILED": "red"}
    colours |= {"PASSED": "red", "FAILS": "red", "ERROR": "red", "caught": "green", "passes": "green"}
    console = Console()
    columns = [[head, *cells] for head, *cells in zip(heads, *rows, strict=True)]
    widths = [max(map(cell_len, column)) for column in columns]
    kept = list(range(len(heads)))
    for head in spare:
        if sum(widths[place] + _GAP for place in kept) > console.width:
            kept.remove(heads.index(head))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place in kept:
        table.add_column(heads[place], no_wrap=heads[place] in _COPIED)
    for row in rows:
        table.add_row(*(Text(row[place], style=colours.get(row[place].split(" ")[0], "")) for place in kept))
    console.print(table)
    if len(kept) < len(heads):
        left_out = ", ".join(head for place, head in enumerate(heads) if place not in kept)
        console.print(f"too narrow a terminal for: {left_out}", style="dim", highlight=False)
