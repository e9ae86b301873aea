"""The A/A check: one arm split against itself, many times, to see how often the rule cries wolf on noise alone."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from steelyard.compare.arms import shown
from steelyard.compare.bootstrap import seed_of
from steelyard.compare.table import RecordTable
from steelyard.domain.compare_spec import CompareSpec
from steelyard.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from steelyard.compare.table import Ints

SPLITS = 200
RESAMPLES = 1000
FIRST, SECOND = "first half", "second half"


@dataclass(frozen=True)
class AaReport:
    """Of `splits` random halvings of one arm: how many got which verdict, and how many would have been promoted.

    `false_interval`: splits whose 95 % interval of the composite delta (of pass/fail without composites) left out 0;
    about 5 % are to be expected. `mean_delta` is that delta's mean over all splits: the halves are alike, so what is
    not 0 is how far the rule itself leans. `repeats` is the smallest half of any task.
    """

    arm: str
    splits: int
    tasks: int
    repeats: int
    improved: int
    neutral: int
    regressed: int
    no_verdict: int
    promoted: int
    intervals: int
    false_interval: int
    mean_delta: float | None
    left_out_tasks: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The report as JSON, with rates."""
        rates = {name: round(getattr(self, name) / self.splits, 6) for name in ("improved", "regressed", "promoted")}
        return {
            "arm": self.arm,
            "splits": self.splits,
            "tasks": self.tasks,
            "repeats": self.repeats,
            "verdicts": {"improved": self.improved, "neutral": self.neutral, "regressed": self.regressed},
            "no_verdict": self.no_verdict,
            "promoted": self.promoted,
            "rates": rates,
            "intervals": self.intervals,
            "false_interval": self.false_interval,
            "mean_delta": self.mean_delta,
            "left_out_tasks": list(self.left_out_tasks),
        }


def aa_check(table: RecordTable, arm: str, spec: CompareSpec, min_repeats: int = 1, splits: int = SPLITS) -> AaReport:
    """Split the repeats of each task of an arm in two at random, weigh the halves, and count the verdicts."""
    import numpy as np

    from steelyard.compare.weigh import weigh

    rows = table.rows_of(arm)
    codes, sizes = np.unique(table.task[rows], return_counts=True)
    if not (sizes >= 2).any():
        raise InputError(f"an A/A check of '{arm}' needs a task with at least two counted repeats")
    rng = np.random.Generator(np.random.SFC64(seed_of(table.number("duration_seconds")[rows], table.task[rows])))
    plain = spec.model_copy(update={"baseline": None, "candidate": None})
    counts = dict.fromkeys(("improved", "neutral", "regressed", "no_verdict", "promoted", "intervals", "off"), 0)
    means = []
    for _ in range(splits):
        halves = split(table, rows, rng)
        answer = weigh(halves, FIRST, SECOND, plain, min_repeats, RESAMPLES)
        counts[answer.verdict or "no_verdict"] += 1
        counts["promoted"] += answer.promote
        delta = answer.paired.composite_delta if answer.verdict else answer.paired.pass_delta
        if delta.mean is not None:
            means.append(delta.mean)
        if delta.ci95 is not None:
            counts["intervals"] += 1
            counts["off"] += delta.ci95[0] > 0 or delta.ci95[1] < 0
    return AaReport(
        arm=arm,
        splits=splits,
        tasks=int((sizes >= 2).sum()),
        repeats=int(sizes[sizes >= 2].min()) // 2,
        improved=counts["improved"],
        neutral=counts["neutral"],
        regressed=counts["regressed"],
        no_verdict=counts["no_verdict"],
        promoted=counts["promoted"],
        intervals=counts["intervals"],
        false_interval=counts["off"],
        mean_delta=shown(sum(means) / len(means)) if means else None,
        left_out_tasks=tuple(table.tasks[code] for code in codes[sizes < 2]),
    )


def split(table: RecordTable, rows: "Ints", rng: "np.random.Generator") -> RecordTable:
    """The arm's runs as two arms of equal size per task; an odd run and a task with one run are left out."""
    import numpy as np

    order = np.lexsort((rng.random(len(rows)), table.task[rows]))
    shuffled = rows[order]
    tasks = table.task[shuffled]
    starts = np.flatnonzero(np.concatenate(([True], tasks[1:] != tasks[:-1])))
    sizes = np.diff(np.append(starts, len(tasks)))
    place = np.arange(len(tasks)) - np.repeat(starts, sizes)
    keep = place < np.repeat(sizes // 2 * 2, sizes)
    chosen, place = shuffled[keep], place[keep]
    return replace(
        table,
        arms=(FIRST, SECOND),
        task=table.task[chosen],
        arm=place % 2,
        error=table.error[chosen],
        repeat=place // 2 + 1,
        success=table.success[chosen],
        numbers={name: column[chosen] for name, column in table.numbers.items()},
        run_ids=[table.run_ids[int(row)] for row in chosen],
    )
