"""What the runs of an experiment add up to, while they go by one at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from steelyard.domain.grade import ScorerResult
from steelyard.domain.run import Run
from steelyard.formulas.gates import overall
from steelyard.formulas.hidden import HIDDEN, GapTally, passes_in_sight
from steelyard.formulas.records import is_success

INTEGRITY = {
    "tests_unmodified",
    "baseline_unmodified",
    "no_new_skips",
    "assertions_not_weakened",
    "harness_unmodified",
    "baseline_tests_pass",
    "hidden_tests",
    "trajectory_rules",
    "forbid_secrets",
}


@dataclass(frozen=True)
class Rated:
    """A run with the numbers derived from it."""

    run: Run
    composite: float | None
    score: int | None
    tier: str


@dataclass
class ArmTotals:
    """What the runs of an arm add up to."""

    runs: int = 0
    counted: int = 0
    passed: int = 0
    composites: list[float] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)

    def add(self, one: Rated) -> None:
        """One more run."""
        self.runs += 1
        if one.run.is_infrastructure:
            return
        self.counted += 1
        self.passed += is_success(one.run)
        self.walls.append(one.run.wall_s)
        for values, value in (
            (self.composites, one.composite),
            (self.scores, one.score),
            (self.costs, one.run.usage.cost_usd),
            (self.tokens, one.run.usage.total_tokens),
        ):
            if value is not None:
                values.append(value)  # type: ignore[arg-type]  # each list takes its own kind

    def row(self, name: str) -> list[str]:
        """The arm in the table."""
        return [
            name,
            str(self.runs),
            f"{self.passed}/{self.counted}",
            _mean(self.composites, 3),
            _mean(self.scores, 0),
            _tier(self.scores),
            f"${sum(self.costs):.2f}" if self.costs else "unknown",
            f"{sum(self.tokens):,}" if self.tokens else "unknown",
            _middle(self.walls),
        ]


@dataclass
class Totals:
    """What is kept of runs that have gone by."""

    arms: dict[str, ArmTotals] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    caught: dict[tuple[str, str, str], tuple[int, str, str]] = field(default_factory=dict)
    gaps: GapTally = field(default_factory=GapTally)
    runs: int = 0
    measured: set[tuple[str, str]] = field(default_factory=set)
    unmeasured: set[tuple[str, str]] = field(default_factory=set)
    failed: int = 0
    unpriced: int = 0
    last: str | None = None

    def counting(self, rated: Iterator[Rated]) -> Iterator[Rated]:
        """The same runs, counted on their way."""
        for one in rated:
            self._count(one)
            yield one

    def _count(self, one: Rated) -> None:
        run = one.run
        self.runs += 1
        (self.unmeasured if run.is_infrastructure else self.measured).add((run.arm, run.task_id))
        self.failed += not run.is_infrastructure and overall(run.scorers) == "FAIL"
        self.unpriced += run.usage.cost_usd is None
        self.last = run.run_id
        self.gaps.add(run)
        self.arms.setdefault(run.arm, ArmTotals()).add(one)
        if run.is_infrastructure and len(self.broken) < 5:
            self.broken.append(f"{run.task_id} {run.arm} #{run.repeat}: {run.error_class}: {run.error_detail}")
        for result in run.scorers:
            if _gamed(run, result):
                key = (run.arm, run.task_id, result.name)
                times, example, detail = self.caught.get(key, (0, run.run_id, result.detail))
                self.caught[key] = (times + 1, example, detail)

    @property
    def all_measured(self) -> bool:
        """Whether each arm has at least one run of each task that counts."""
        return self.unmeasured <= self.measured

    def caught_lines(self) -> list[str]:
        """Which arms gamed which checks on which tasks, a line each, with one run to look at."""
        return [
            f"caught: {arm} on {task}: {name}: {detail} ({times} of its runs, e.g. {example})"
            for (arm, task, name), (times, example, detail) in sorted(self.caught.items())
        ]


def _gamed(run: Run, result: ScorerResult) -> bool:
    """Whether a check of integrity failed; hidden tests tell of a game only where those in sight pass."""
    if result.type not in INTEGRITY or result.verdict != "FAIL" or result.crashed or result.quarantined:
        return False
    return result.type != HIDDEN or passes_in_sight(run)


def _mean(values: Sequence[float], digits: int) -> str:
    return f"{sum(values) / len(values):.{digits}f}" if values else "-"


def _middle(values: Sequence[float]) -> str:
    ordered = sorted(values)
    half = len(ordered) // 2
    if not ordered:
        return "-"
    return f"{ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2:.2f}"


def _tier(scores: Sequence[int]) -> str:
    from steelyard.formulas.scorecard import tier_of

    return tier_of(round(sum(scores) / len(scores))) if scores else "Unranked"
