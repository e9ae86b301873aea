"""The five paired deltas of two arms: mean, median, interval, p-value, and what the design could have seen."""

from typing import TYPE_CHECKING

from steelyard.compare import bootstrap
from steelyard.compare.arms import median, shown
from steelyard.compare.pairing import Composites, Sides
from steelyard.compare.power import detectable, pilot_from, plan_repeats
from steelyard.compare.significance import mcnemar, sign_flip
from steelyard.compare.table import RecordTable
from steelyard.domain.comparison import Delta, McNemar, Paired, Unpaired

if TYPE_CHECKING:
    from steelyard.compare.table import Floats, Ints

MEASURES = ("pass_delta", "cost_delta_usd", "duration_delta_seconds", "token_delta", "composite_delta")
MOST_UNPAIRED = 1000


def pair_deltas(both: Sides, scores: Composites) -> "Floats":
    """Pairs × the five deltas, candidate minus baseline; NaN where a side is unknown or not finite."""
    import numpy as np

    table = both.table
    columns = (
        table.success.astype(np.float64),
        table.number("total_cost_usd"),
        table.number("duration_seconds"),
        table.total_tokens,
    )
    values = np.empty((len(both.paired_baseline), len(MEASURES)), order="F")
    for k, column in enumerate(columns):
        values[:, k] = both.difference(column)
    last = values[:, -1]
    with np.errstate(invalid="ignore"):
        np.subtract(scores.candidate[both.paired_candidate], scores.baseline[both.paired_baseline], out=last)
    last[np.isinf(last)] = np.nan  # only a composite can be stated and not be finite
    return values


def starts_of(codes: "Ints") -> "Ints":
    """Where each run of equal codes begins."""
    import numpy as np

    return np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1]))) if len(codes) else np.zeros(0, np.int64)


def paired(both: Sides, scores: Composites, names: tuple[str, str], resamples: int) -> Paired:
    """Everything that the pairs say."""
    values = pair_deltas(both, scores)
    unpaired, count = unpaired_runs(both, names)
    return Paired(
        pairs=len(values),
        unpaired=unpaired,
        unpaired_count=count,
        judge_pairs=scores.judge_pairs,
        judge_pairs_lost=scores.judge_pairs_lost,
        **summaries(values, both.pair_tasks, resamples),
    )


def summaries(values: "Floats", tasks: "Ints", resamples: int) -> dict[str, Delta]:
    """Each delta summed up. Deltas that are known for the same pairs share their resamples."""
    import numpy as np

    known = ~np.isnan(values)
    groups: dict[bytes, list[int]] = {}
    for k in range(len(MEASURES)):
        groups.setdefault(b"" if known[:, k].all() else known[:, k].tobytes(), []).append(k)
    found: dict[str, Delta] = {}
    for members in groups.values():
        mask = known[:, members[0]]
        whole = bool(mask.all())
        if not whole:
            own = np.asfortranarray(values[mask][:, members])
        else:
            own = values if len(members) == len(MEASURES) else np.asfortranarray(values[:, members])
        starts = starts_of(tasks if whole else tasks[mask])
        for k, delta in zip(members, _summarise(own, starts, resamples), strict=True):
            found[MEASURES[k]] = delta.model_copy(update={"unknown": len(values) - len(own)})
    if len(values):
        gained, lost = int((values[:, 0] > 0).sum()), int((values[:, 0] < 0).sum())
        exact = McNemar(gained=gained, lost=lost, p=round(mcnemar(gained, lost), 6))
        found["pass_delta"] = found["pass_delta"].model_copy(update={"mcnemar": exact})
    return {name: found[name] for name in MEASURES}


def _summarise(values: "Floats", starts: "Ints", resamples: int) -> list[Delta]:
    if len(values) == 0:
        return [Delta(mean=None, median=None, ci95=None, p=None, pairs=0, tasks=0)] * values.shape[1]
    sums = bootstrap.task_sums(values, starts)
    seed = bootstrap.seed_of(sums, starts)
    ranges = bootstrap.intervals(values, starts, resamples, seed)
    p_values = sign_flip(sums, seed + 1)
    deltas = []
    for k in range(values.shape[1]):
        column = values[:, k]
        pilot = pilot_from(column, starts)
        smallest = detectable(pilot, pilot.repeats)
        if shown(smallest) == 0:  # no two pairs differed: how much chance there is can't be known from them
            smallest = None
        interval = ranges[k]
        deltas.append(
            Delta(
                mean=shown(float(column.mean())),
                median=shown(median(column)),
                ci95=None if interval is None else (shown(interval.low) or 0.0, shown(interval.high) or 0.0),
                p=round(p_values[k], 6),
                pairs=len(column),
                tasks=len(starts),
                method=None if interval is None else interval.method,
                standard_error=None if interval is None else shown(interval.standard_error),
                minimum_detectable=shown(smallest),
                repeats_needed=None
                if smallest is None or round(pilot.mean, 6) == 0
                else plan_repeats(pilot, abs(pilot.mean)).repeats,
            )
        )
    return deltas


def unpaired_runs(both: Sides, names: tuple[str, str]) -> tuple[tuple[Unpaired, ...], int]:
    """Runs without a partner: the first thousand by task, repeat and arm, and how many there are."""
    import numpy as np

    table: RecordTable = both.table
    listed: list[Unpaired] = []
    count = 0
    for name, rows, places in zip(
        names, (both.baseline, both.candidate), (both.paired_baseline, both.paired_candidate), strict=True
    ):
        alone = np.delete(rows, places)
        count += len(alone)
        listed += [
            Unpaired(task_id=table.tasks[table.task[row]], repeat=int(table.repeat[row]), arm=name)
            for row in alone[:MOST_UNPAIRED]
        ]
    listed.sort(key=lambda run: (run.task_id, run.repeat, run.arm))
    return tuple(listed[:MOST_UNPAIRED]), count
