"""What there is to run: tasks × arms × repeats, ordered so that the time of day can't favour an arm."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from steelyard.domain.run import Cell


def plan(tasks: Sequence[str], arms: Sequence[str], repeats: Iterable[int], done: AbstractSet[Cell]) -> list[Cell]:
    """Every missing cell. Arms of one (repeat, task) stand together, and each arm gets to be first in turn."""
    cells = []
    for repeat in repeats:
        for number, task in enumerate(tasks):
            first = (repeat + number) % len(arms) if arms else 0
            ordered = [*arms[first:], *arms[:first]]
            cells += [Cell(task_id=task, arm=arm, repeat=repeat) for arm in ordered]
    return [cell for cell in cells if cell not in done]
