"""One arm over all its counted runs, under the seed's names; and which arm is the baseline, which the candidate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.compare.table import RecordTable
from steelyard.domain.comparison import ArmMetrics
from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.compare.table import Floats, Ints

DECIMALS = 6


def shown(value: float | None) -> float | None:
    """A number as it is shown and stored: 6 decimals, no negative zero; what is not a finite number is None."""
    if value is None or not abs(value) < float("inf"):
        return None
    return round(float(value), DECIMALS) + 0.0


def median(values: "Floats") -> float | None:
    """The middle value, or the mean of the middle two; None without values. All values are known numbers."""
    import numpy as np

    if not len(values):
        return None
    half = len(values) // 2
    if len(values) % 2:
        return float(np.partition(values, half)[half])
    middle = np.partition(values, (half - 1, half))[half - 1 : half + 1]
    return float(middle[0] + middle[1]) / 2


def arm_metrics(table: RecordTable, rows: "Ints", composites: "Floats | None" = None) -> ArmMetrics:
    """The metrics of these rows. Unknown numbers are left out of sums and medians, and counted."""
    import numpy as np

    runs = len(rows)
    successes = int(table.success[rows].sum())
    unknown: dict[str, int] = {}

    def known(name: str, column: "Floats") -> "Floats":
        if not any(column.strides):  # a field that no record has
            if runs:
                unknown[name] = runs
            return np.zeros(0)
        values: Floats = column[rows]
        missing = np.isnan(values)
        lacking = int(missing.sum())
        if lacking:
            unknown[name] = lacking
            values = values[~missing]
        return values

    cost = known("total_cost_usd", table.number("total_cost_usd"))
    total_cost = float(cost.sum()) if len(cost) else None
    middle = {
        f"median_{name}": shown(median(known(name, table.number(name))))
        for name in ("cache_read_tokens", "cache_write_tokens", "step_count", "tool_call_count", "acceptance_cmd_count")
    }
    finite = composites[np.isfinite(composites)] if composites is not None else np.zeros(0)
    return ArmMetrics(
        runs=runs,
        successes=successes,
        success_rate=shown(successes / runs) if runs else None,
        total_cost_usd=shown(total_cost),
        avg_cost_usd=shown(total_cost / len(cost)) if total_cost is not None else None,
        median_cost_usd=shown(median(cost)),
        median_duration_seconds=shown(median(known("duration_seconds", table.number("duration_seconds")))),
        median_total_tokens=shown(median(known("total_tokens", table.total_tokens))),
        median_non_cache_tokens=shown(median(known("non_cache_tokens", table.non_cache_tokens))),
        solved_per_dollar=shown(successes / total_cost) if total_cost else None,
        mean_composite=shown(float(finite.mean())) if len(finite) else None,
        unknown=unknown,
        **middle,
    )


def pick_arms(names: Sequence[str], baseline: str | None, candidate: str | None) -> tuple[str, str]:
    """Which two arms to weigh. With two arms one name is enough; anything less clear is refused, never guessed."""
    for given, flag in ((baseline, "baseline"), (candidate, "candidate")):
        if given is not None and given not in names:
            from difflib import get_close_matches

            near = get_close_matches(given, names, 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise InputError(f"--{flag}: no arm is called '{given}'{hint} (arms: {', '.join(names) or 'none'})")
    if len(names) < 2:
        there = f"there is only {names[0]}" if names else "there is none"
        raise InputError(f"a comparison needs two arms, and {there}")
    if baseline is not None and baseline == candidate:
        raise InputError(f"baseline and candidate are both '{baseline}'; name two different arms")
    if len(names) == 2 and (baseline or candidate):
        other = {names[0]: names[1], names[1]: names[0]}
        return baseline or other[candidate or ""], candidate or other[baseline or ""]
    if baseline is None or candidate is None:
        missing = " and ".join(f"--{f}" for f, v in (("baseline", baseline), ("candidate", candidate)) if v is None)
        raise InputError(f"say which arms to weigh: add {missing} (arms: {', '.join(names)})")
    return baseline, candidate
