"""How cost, time and tokens spread over the runs of each arm."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.compare.arms import shown
from steelyard.compare.ranks import percentiles
from steelyard.compare.table import RecordTable
from steelyard.domain.comparison import Spread, SpreadMeasure

if TYPE_CHECKING:
    from steelyard.compare.table import Floats

MOST_ARMS = 12
MOST_VALUES = 101  # all values of an arm, or its percentiles 0 to 100


def spreads(table: RecordTable, arms: Sequence[str]) -> tuple[Spread, ...]:
    """One spread a measure and arm, over the counted runs."""
    columns: dict[SpreadMeasure, Floats] = {
        "cost_usd": table.number("total_cost_usd"),
        "duration_seconds": table.number("duration_seconds"),
        "total_tokens": table.total_tokens,
    }
    rows = {arm: table.rows_of(arm) for arm in arms[:MOST_ARMS]}
    return tuple(_spread(measure, arm, column[rows[arm]]) for measure, column in columns.items() for arm in rows)


def _spread(measure: SpreadMeasure, arm: str, values: "Floats") -> Spread:
    import numpy as np

    known = values[~np.isnan(values)]
    found = percentiles(known, np.arange(MOST_VALUES)) if len(known) else known
    middle = found[[25, 50, 75]] if len(known) else None
    values_shown = found if len(known) > MOST_VALUES else np.sort(known)
    return Spread(
        measure=measure,
        arm=arm,
        runs=len(known),
        unknown=len(values) - len(known),
        quartiles=None if middle is None else (_number(middle[0]), _number(middle[1]), _number(middle[2])),
        values=tuple(_number(value) for value in values_shown),
    )


def _number(value: float) -> float:
    return shown(float(value)) or 0.0
