"""One comparison as readers see it: every word and number chosen here, once, for the terminal, Markdown and HTML."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from steelyard.domain.comparison import Comparison, Delta, TaskRow
from steelyard.reports import tables, words
from steelyard.reports.regressed import Against, Link, NamedRun, against_of, named_of
from steelyard.reports.sentences import method, promotion, why
from steelyard.reports.tables import Table

Tone = Literal["good", "bad", "even", "unknown"]
MOST_TASKS = 60
MOST_REGRESSIONS = 50
MOST_NOTES = 50


@dataclass(frozen=True)
class Measure:
    """One paired delta in words and in numbers for the chart; `better` is the sign that favours the candidate."""

    label: str
    unit: str
    better: Literal[-1, 1]
    mean: str
    median: str
    interval: str
    p: str
    pairs: str
    detectable: str
    needed: str
    numbers: tuple[float, float | None, float | None] | None
    tone: Tone


@dataclass(frozen=True)
class Gate:
    """One gate of the decision rule."""

    label: str
    rule: str
    baseline: str
    candidate: str
    answer: Literal["holds", "fails", "unknown"]


@dataclass(frozen=True)
class Task:
    """One task in words, and its delta as a number for the chart."""

    name: str
    baseline: str
    candidate: str
    delta: str
    passed: str
    runs: str
    remark: str
    number: float | None
    tone: Tone


@dataclass(frozen=True)
class View:
    """What a report shows, from the verdict down to the method."""

    baseline: str
    candidate: str
    verdict: str
    tone: Tone
    why: str
    decision: str
    promote: bool
    promotion: str
    tasks: tuple[Task, ...]
    tasks_left_out: int
    measures: tuple[Measure, ...]
    pairs: str
    gates: tuple[Gate, ...]
    arms: Table
    consumption: Table
    others: Table | None
    regressions: tuple[Against, ...]
    regressions_left_out: int
    excluded: Table | None
    unpaired: Table | None
    named_runs: tuple[NamedRun, ...]
    treatment: Table | None
    hidden_gaps: Table | None
    judged: Table | None
    disagreements: Table | None
    parity: tuple[str, ...]
    notes: tuple[str, ...]
    method: tuple[str, ...]


TONES: dict[str | None, Tone] = {"improved": "good", "regressed": "bad", "neutral": "even", None: "unknown"}


def view_of(comparison: Comparison, link: Link | None = None) -> View:
    """The view of a comparison; `link` gives the page of a run, where there are pages."""
    shown, left_out = shown_tasks(comparison)
    against = against_of(comparison, link)
    return View(
        baseline=words.name(comparison.baseline),
        candidate=words.name(comparison.candidate),
        verdict=comparison.verdict or "no verdict",
        tone=TONES[comparison.verdict],
        why=why(comparison),
        decision=words.visible(comparison.decision.choice)
        + (" (provisional)" if comparison.decision.provisional else ""),
        promote=comparison.promote,
        promotion=promotion(comparison),
        tasks=tuple(map(_task, shown)),
        tasks_left_out=left_out,
        measures=measures_of(comparison),
        pairs=_pairs(comparison),
        gates=tuple(_gates(comparison)),
        arms=tables.arms(comparison),
        consumption=tables.consumption(comparison),
        others=tables.others(comparison),
        regressions=against[:MOST_REGRESSIONS],
        regressions_left_out=max(0, len(against) - MOST_REGRESSIONS),
        excluded=tables.excluded(comparison),
        unpaired=tables.unpaired(comparison),
        named_runs=named_of(comparison, link),
        treatment=tables.treatment(comparison),
        hidden_gaps=tables.hidden_gaps(comparison),
        judged=tables.judged(comparison),
        disagreements=tables.disagreements(comparison),
        parity=tuple(map(words.visible, comparison.parity[:MOST_NOTES])),
        notes=tuple(words.visible(n) for n in comparison.notes[:MOST_NOTES] if not n.startswith("parity: ")),
        method=method(comparison),
    )


def shown_tasks(comparison: Comparison, most: int = MOST_TASKS) -> tuple[list[TaskRow], int]:
    """The tasks worth a row, by delta: those without a partner, then the largest losses and the largest gains."""
    rows = sorted(comparison.tasks, key=_place)
    if len(rows) <= most:
        return rows, 0
    alone = [row for row in rows if row.delta is None or row.status != "both"][: most // 3]
    weighed = [row for row in rows if row.delta is not None and row.status == "both"]
    half = (most - len(alone)) // 2
    kept = [*weighed[:half], *weighed[max(half, len(weighed) - half) :], *alone]
    return sorted(kept, key=_place), len(rows) - len(kept)


def _place(row: TaskRow) -> tuple[float, str]:
    return float("inf") if row.delta is None else row.delta, row.task_id


def _task(row: TaskRow) -> Task:
    remarks = {"baseline_only": "not run by the candidate", "candidate_only": "candidate only, not counted"}
    kinds = list(dict.fromkeys(kind.replace("_", " ") for kind in row.regressions))
    remark = remarks.get(row.status) or ", ".join(kinds)
    tone: Tone = "bad" if row.regressions else "unknown" if row.delta is None else "even"
    if tone == "even" and row.delta:
        tone = "good" if row.delta > 0 else "bad"
    rates = (row.baseline_success_rate, row.candidate_success_rate)
    return Task(
        name=words.name(row.task_id),
        baseline="–" if not row.baseline_runs else words.composite(row.baseline),
        candidate="–" if not row.candidate_runs else words.composite(row.candidate),
        delta=words.composite(row.delta, sign=True) if row.status == "both" else "–",
        passed=" → ".join("–" if rate is None else f"{100 * rate:.0f} %" for rate in rates),
        runs=f"{row.baseline_runs:,} / {row.candidate_runs:,}",
        remark=remark,
        number=row.delta if row.status == "both" else None,
        tone=tone,
    )


def measures_of(comparison: Comparison) -> tuple[Measure, ...]:
    """The five paired deltas; composites first when there are any."""
    paired = comparison.paired
    return (
        _measure("Composite", "", 1, paired.composite_delta),
        _measure("Pass rate", "percentage points", 1, paired.pass_delta),
        _measure("Cost", "US dollars", -1, paired.cost_delta_usd),
        _measure("Duration", "seconds", -1, paired.duration_delta_seconds),
        _measure("Tokens", "", -1, paired.token_delta),
    )


_SHOW: dict[str, Callable[..., str]] = {
    "Composite": words.composite,
    "Pass rate": words.points,
    "Cost": words.money,
    "Duration": words.seconds,
    "Tokens": words.count,
}


def _measure(label: str, unit: str, better: Literal[-1, 1], delta: Delta) -> Measure:
    show = _SHOW[label]
    scale = 100 if label == "Pass rate" else 1
    low, high = delta.ci95 if delta.ci95 is not None else (None, None)
    tone: Tone = "unknown" if delta.ci95 is None else "even"
    if low is not None and high is not None and (low > 0 or high < 0):
        tone = "good" if (low > 0) == (better > 0) else "bad"
    numbers = None
    if delta.mean is not None:
        numbers = (scale * delta.mean, None if low is None else scale * low, None if high is None else scale * high)
    needed = "–"
    if delta.minimum_detectable is not None and delta.mean:
        needed = "more tasks" if delta.repeats_needed is None else f"{delta.repeats_needed:,}"
    return Measure(
        label=label,
        unit=unit,
        better=better,
        mean=show(delta.mean, sign=True),
        median=show(delta.median, sign=True),
        interval="–" if low is None else f"{show(low, sign=True)} to {show(high, sign=True)}",
        p=words.p_value(delta.p) if delta.mean is not None else "–",
        pairs=f"{delta.pairs:,}" + (f" ({delta.unknown:,} unknown)" if delta.unknown else ""),
        detectable="–" if delta.minimum_detectable is None else f"±{show(delta.minimum_detectable)}",
        needed=needed,
        numbers=numbers,
        tone=tone,
    )


def _pairs(comparison: Comparison) -> str:
    paired = comparison.paired
    text = f"{words.many(paired.pairs, 'pair')} on {words.many(paired.pass_delta.tasks, 'task')}"
    changed = paired.pass_delta.mcnemar
    if changed is not None:
        text += (
            f"; {changed.gained:,} went from fail to pass, {changed.lost:,} from pass to fail "
            f"(McNemar p {'' if changed.p < 0.0001 else '= '}{words.p_value(changed.p)})"
        )
    return text


def _gates(comparison: Comparison) -> list[Gate]:
    decision = comparison.decision
    kinds = (
        ("success_rate", "Success rate", "at least the baseline's", words.percent),
        ("runtime", "Median runtime", "at most the baseline's", words.seconds),
        ("tokens", "Median non-cache tokens", "at most the baseline's", words.count),
    )
    found = []
    for key, label, rule, show in kinds:
        holds = getattr(decision.gates, key)
        numbers = decision.numbers.get(key)
        found.append(
            Gate(
                label=label,
                rule=rule,
                baseline=show(numbers.baseline if numbers else None),
                candidate=show(numbers.candidate if numbers else None),
                answer="unknown" if holds is None else "holds" if holds else "fails",
            )
        )
    return found
