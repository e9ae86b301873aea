"""Pilots for a plan: the variance of paired deltas in runs that are already there."""

from typing import TYPE_CHECKING

from steelyard.compare.deltas import MEASURES, pair_deltas, starts_of
from steelyard.compare.pairing import composites, sides
from steelyard.compare.power import Pilot, pilot_from
from steelyard.compare.table import RecordTable
from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.compare.table import Floats, Ints

_COLUMNS = {"cost_delta_usd": "total_cost_usd", "duration_delta_seconds": "duration_seconds"}


def pilot_of(table: RecordTable, baseline: str, candidate: str, measure: str = "composite_delta") -> Pilot:
    """The pilot that two arms make, for one of the five deltas."""
    import numpy as np

    _check(measure)
    both = sides(table, baseline, candidate)
    deltas = pair_deltas(both, composites(both))[:, MEASURES.index(measure)]
    known = ~np.isnan(deltas)
    rows = (both.baseline, both.candidate)
    return pilot_from(deltas[known], starts_of(both.pair_tasks[known]), *_per_pair(table, rows))


def pilot_of_arm(table: RecordTable, arm: str, measure: str = "composite_delta") -> Pilot:
    """The pilot that one arm alone makes.

    A pair of runs that differ by chance only has twice a run's variance; how much tasks would differ in their effect
    can't be known yet and is taken as 0, so the plan is the least that can do.
    """
    import numpy as np

    _check(measure)
    rows = table.rows_of(arm)
    values = _values(table, rows, measure)
    known = ~np.isnan(values)
    alone = pilot_from(values[known], starts_of(table.task[rows][known]))
    cost, seconds = _per_pair(table, (rows, rows))
    return Pilot(alone.tasks, alone.pairs, 0.0, 0.0, 2 * alone.within, cost, seconds)


def _check(measure: str) -> None:
    if measure not in MEASURES:
        raise InputError(f"no measure is called '{measure}'; known: {', '.join(MEASURES)}")


def _values(table: RecordTable, rows: "Ints", measure: str) -> "Floats":
    import numpy as np

    if measure == "pass_delta":
        return table.success[rows].astype(np.float64)
    if measure == "composite_delta":
        recorded = table.number("composite")[rows]
        return np.where(np.isfinite(recorded), recorded, np.nan)
    column = table.total_tokens if measure == "token_delta" else table.number(_COLUMNS[measure])
    found: Floats = column[rows]
    return found


def _per_pair(table: RecordTable, arms: "tuple[Ints, Ints]") -> tuple[float | None, float | None]:
    """Mean cost and seconds of one run of each arm, together; None when an arm's is not known at all."""
    import numpy as np

    found: list[float | None] = []
    for name in ("total_cost_usd", "duration_seconds"):
        columns = [table.number(name)[rows] for rows in arms]
        if all((~np.isnan(column)).any() for column in columns):
            found.append(float(sum(np.nanmean(column) for column in columns)))
        else:
            found.append(None)
    return found[0], found[1]
