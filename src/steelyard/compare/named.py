"""The runs that a reader of a regression looks at first: a few of each arm on every task that regressed."""

from typing import TYPE_CHECKING

from steelyard.compare.arms import shown
from steelyard.compare.pairing import Composites, Sides
from steelyard.compare.table import RecordTable
from steelyard.compare.verdict import Judgement
from steelyard.domain.comparison import NamedRun, TaskRow

if TYPE_CHECKING:
    from steelyard.compare.table import Floats

NUMBERS = ("objective_passed", "objective_total", "duration_seconds", "total_cost_usd")
MOST_TASKS = 50
MOST_RUNS = 3  # of a task and arm


def named_runs(both: Sides, scores: Composites, judgement: Judgement, names: tuple[str, str]) -> tuple[NamedRun, ...]:
    """The first runs of both arms on the tasks that regressed, the candidate's before the baseline's."""
    import numpy as np

    regressed = regressed_tasks(judgement)
    if not regressed:
        return ()
    table = both.table
    codes = {name: code for code, name in enumerate(table.tasks)}
    arms = (
        (names[1], both.candidate, table.task[both.candidate], scores.candidate),
        (names[0], both.baseline, table.task[both.baseline], scores.baseline),
    )
    found = []
    columns = {name: table.number(name) for name in NUMBERS} | {"total_tokens": table.total_tokens}
    for row in regressed:
        for arm, rows, tasks, composites in arms:  # rows lie by task and repeat
            first, end = np.searchsorted(tasks, [codes[row.task_id], codes[row.task_id] + 1]).tolist()
            places = range(first, min(end, first + MOST_RUNS))
            found += [_named(table, columns, int(rows[place]), arm, float(composites[place])) for place in places]
    return tuple(found)


def regressed_tasks(judgement: Judgement) -> list[TaskRow]:
    """Tasks with something against the candidate: hard ones first, the largest drop of the composite first."""
    hard = {one.task_id for one in judgement.regressions if one.hard}
    rows = [row for row in judgement.rows if row.regressions]
    lowest = float("-inf")
    rows.sort(key=lambda row: (row.task_id not in hard, lowest if row.delta is None else row.delta, row.task_id))
    return rows[:MOST_TASKS]


def _named(table: RecordTable, columns: "dict[str, Floats]", row: int, arm: str, composite: float) -> NamedRun:
    error = int(table.error[row])
    return NamedRun(
        run_id=table.run_ids[row],
        task_id=table.tasks[table.task[row]],
        arm=arm,
        repeat=int(table.repeat[row]),
        success=bool(table.success[row]),
        composite=shown(composite),
        error_class=None if error < 0 else table.errors[error],
        **{name: shown(float(column[row])) for name, column in columns.items()},
    )
