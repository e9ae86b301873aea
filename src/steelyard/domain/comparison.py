"""Two arms weighed against each other: the whole answer in one record, whose JSON is `steelyard compare --json`."""

from typing import Literal

from pydantic import Field

from steelyard.domain.record import Record

RegressionKind = Literal[
    "objective_drop", "objective_rate_drop", "composite_drop", "missing_task", "not_finite", "not_measurable"
]
Verdict = Literal["improved", "neutral", "regressed"]
SpreadMeasure = Literal["cost_usd", "duration_seconds", "total_tokens"]


class Regression(Record):
    """One reason against the candidate, with its task and numbers; only a `hard` one makes the verdict `regressed`."""

    task_id: str
    kind: RegressionKind
    hard: bool
    detail: str
    baseline: float | None
    candidate: float | None
    delta: float | None
    p: float | None = None


class TaskRow(Record):
    """One task: the mean composite of each arm over its repeats, and what speaks against the candidate there.

    `status`: both, baseline_only (a dropped task) or candidate_only (shown, never counted as gain). At most 20 run ids
    an arm are listed.
    """

    task_id: str
    baseline: float | None
    candidate: float | None
    delta: float | None
    regressions: tuple[RegressionKind, ...] = ()
    status: Literal["both", "baseline_only", "candidate_only"] = "both"
    baseline_runs: int = 0
    candidate_runs: int = 0
    baseline_success_rate: float | None = None
    candidate_success_rate: float | None = None
    baseline_objective: float | None = None
    candidate_objective: float | None = None
    baseline_run_ids: tuple[str, ...] = ()
    candidate_run_ids: tuple[str, ...] = ()


class DecisionGates(Record):
    """Whether each gate of the seed holds for the candidate; None when it can't be told."""

    success_rate: bool | None
    runtime: bool | None
    tokens: bool | None


class GateNumbers(Record):
    """What a gate compared."""

    candidate: float | None
    baseline: float | None


class Decision(Record):
    """The decision rule's answer (seed 004); provisional with fewer repeats than a promotion needs."""

    choice: str
    gates: DecisionGates
    provisional: bool
    numbers: dict[str, GateNumbers] = {}


class ArmMetrics(Record):
    """An arm over all its counted runs, under the seed's names; `unknown` counts what was left out, by field."""

    runs: int
    successes: int
    success_rate: float | None
    total_cost_usd: float | None
    avg_cost_usd: float | None
    median_cost_usd: float | None
    median_duration_seconds: float | None
    median_total_tokens: float | None
    median_non_cache_tokens: float | None
    solved_per_dollar: float | None
    median_cache_read_tokens: float | None = None
    median_cache_write_tokens: float | None = None
    median_step_count: float | None = None
    median_tool_call_count: float | None = None
    median_acceptance_cmd_count: float | None = None
    mean_composite: float | None = None
    unknown: dict[str, int] = {}


class McNemar(Record):
    """Pairs that changed from fail to pass and from pass to fail, and the exact p-value, blind to tasks."""

    gained: int
    lost: int
    p: float


class Delta(Record):
    """One paired delta, candidate minus baseline; `pairs` are those where both sides are known."""

    mean: float | None
    median: float | None
    ci95: tuple[float, float] | None
    p: float | None
    pairs: int
    tasks: int
    unknown: int = 0
    method: str | None = None
    standard_error: float | None = None
    minimum_detectable: float | None = None
    repeats_needed: int | None = None
    mcnemar: McNemar | None = None


class Unpaired(Record):
    """A run whose partner in the other arm is missing."""

    task_id: str
    repeat: int
    arm: str


class Paired(Record):
    """What pairs of (task, repeat) say; at most 1,000 unpaired runs are listed, all are counted."""

    pairs: int
    unpaired: tuple[Unpaired, ...]
    pass_delta: Delta
    cost_delta_usd: Delta
    duration_delta_seconds: Delta
    token_delta: Delta
    composite_delta: Delta
    unpaired_count: int = 0
    judge_pairs: int = 0
    judge_pairs_lost: int = 0


class Against(Record):
    """One arm of several against the baseline; p-values are adjusted for the number of arms (Holm)."""

    arm: str
    verdict: Verdict | None
    net_composite_gain: float | None
    hard_regressions: int
    choice: str
    measure: Literal["composite_delta", "pass_delta"]
    mean: float | None
    ci95: tuple[float, float] | None
    p: float | None
    p_holm: float | None


class Treatment(Record):
    """Whether an arm's runs met what the arm added: `received` read at least one of its files, `unknown` can't tell.

    The deltas are of treated runs alone, beside `paired`, which counts every run (intent to treat); None when they
    would be the same or there is nothing to compare.
    """

    arm: str
    files: tuple[str, ...]
    runs: int
    received: int
    unknown: int
    pass_delta: Delta | None = None
    composite_delta: Delta | None = None


class Disagreement(Record):
    """Runs of an arm on which programs, judge and warnings do not say the same: the reading, how many, some of them."""

    reading: str
    arm: str
    runs: int
    run_ids: tuple[str, ...]


class ArmJudged(Record):
    """What the judge said of an arm's counted runs; `cost_usd` is what judging cost, None when a part is unknown."""

    arm: str
    passed: int
    failed: int
    unparseable: int
    not_run: int
    ratings: dict[str, float | None]
    failure_modes: dict[str, int]
    models: tuple[str, ...]
    cost_usd: float | None


class HiddenGap(Record):
    """Of an arm's runs with both kinds of tests: how often the visible ones passed, and how often the hidden ones."""

    arm: str
    runs: int
    visible: float
    hidden: float

    @property
    def gap(self) -> float:
        """Visible minus hidden pass rate: 0 when whatever passes in sight passes out of sight."""
        return self.visible - self.hidden


class NamedRun(Record):
    """A run of a task that regressed, and what came of it; `composite` is the one of this comparison."""

    run_id: str
    task_id: str
    arm: str
    repeat: int
    success: bool
    composite: float | None
    objective_passed: float | None
    objective_total: float | None
    duration_seconds: float | None
    total_cost_usd: float | None
    total_tokens: float | None
    error_class: str | None


class Spread(Record):
    """How a measure spreads over an arm's counted runs: quartiles, and each value or, of many, percentiles 0 to 100."""

    measure: SpreadMeasure
    arm: str
    runs: int
    unknown: int
    quartiles: tuple[float, float, float] | None
    values: tuple[float, ...]


class Comparison(Record):
    """The answer: verdict (seed 000), decision (seed 004), whether to promote and why not, and every number behind."""

    baseline: str
    candidate: str
    verdict: Verdict | None
    promote: bool
    net_composite_gain: float | None
    tasks: tuple[TaskRow, ...]
    regressions: tuple[Regression, ...]
    decision: Decision
    arms: dict[str, ArmMetrics]
    paired: Paired
    excluded: dict[str, int]
    notes: tuple[str, ...]
    excluded_by_arm: dict[str, dict[str, int]] = {}
    promote_reasons: tuple[str, ...] = ()
    composite_source: Literal["derived", "recorded", "none"] = "none"
    min_repeats: int = Field(default=5, ge=1)
    fewest_repeats: int = 0
    thresholds: dict[str, float | bool | str] = {}
    against_baseline: tuple[Against, ...] = ()
    parity: tuple[str, ...] = ()
    treatment: tuple[Treatment, ...] = ()
    method: str = ""
    disagreements: tuple[Disagreement, ...] = ()
    named_runs: tuple[NamedRun, ...] = ()
    spreads: tuple[Spread, ...] = ()
    judged: tuple[ArmJudged, ...] = ()
    hidden_gaps: tuple[HiddenGap, ...] = ()
