"""The tables of a report, as rows of text."""

from dataclasses import dataclass

from steelyard.domain.comparison import ArmMetrics, Comparison, NamedRun
from steelyard.reports import words

MOST_ARMS = 30
MOST_UNPAIRED = 20
MOST_JUDGES = 5


@dataclass(frozen=True)
class Table:
    """Heads and rows of text; `left_out` rows are not shown."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


def arms(comparison: Comparison) -> Table:
    """Every arm over all its runs, baseline and candidate first."""
    names = _in_order(comparison)
    rows = []
    for name in names[:MOST_ARMS]:
        arm = comparison.arms[name]
        rows.append(
            (
                words.name(name) + _role(comparison, name),
                f"{arm.runs:,}",
                f"{arm.successes:,}",
                words.percent(arm.success_rate) if arm.runs else "–",
                words.composite(arm.mean_composite) if arm.mean_composite is not None else "–",
                words.money(arm.total_cost_usd),
                words.money(arm.median_cost_usd),
                words.seconds(arm.median_duration_seconds),
                words.count(arm.median_total_tokens),
                words.count(arm.solved_per_dollar) if arm.solved_per_dollar is not None else words.UNKNOWN,
            )
        )
    heads = ("arm", "runs", "solved", "rate", "composite", "cost", "median cost", "median time", "median tokens")
    return Table((*heads, "solved per $"), tuple(rows), max(0, len(names) - MOST_ARMS))


def consumption(comparison: Comparison) -> Table:
    """What a typical run of each of the two arms took, and how much more or less the candidate's did."""
    base, cand = comparison.arms[comparison.baseline], comparison.arms[comparison.candidate]
    kinds = (
        ("cost per run, median", "median_cost_usd", words.money),
        ("cost, all runs", "total_cost_usd", words.money),
        ("duration, median", "median_duration_seconds", words.seconds),
        ("tokens, median", "median_total_tokens", words.count),
        ("tokens without cache, median", "median_non_cache_tokens", words.count),
        ("cache read tokens, median", "median_cache_read_tokens", words.count),
        ("cache write tokens, median", "median_cache_write_tokens", words.count),
        ("steps, median", "median_step_count", words.count),
        ("tool calls, median", "median_tool_call_count", words.count),
        ("acceptance commands, median", "median_acceptance_cmd_count", words.count),
    )
    rows = []
    for label, field, show in kinds:
        before, after = getattr(base, field), getattr(cand, field)
        if field == "median_acceptance_cmd_count" and before is None and after is None:
            continue  # only records from elsewhere count them
        rows.append((label, show(before), show(after), words.relative(after, before), _unknown(field, base, cand)))
    heads = ("measure", words.name(comparison.baseline), words.name(comparison.candidate), "change", "runs unknown")
    width = 5 if any(row[4] for row in rows) else 4
    return Table(heads[:width], tuple(row[:width] for row in rows))


def _unknown(field: str, base: ArmMetrics, cand: ArmMetrics) -> str:
    """Runs that did not say, in each arm."""
    name = field.removeprefix("median_")
    name = "total_cost_usd" if name == "cost_usd" else name
    counts = base.unknown.get(name, 0), cand.unknown.get(name, 0)
    return f"{counts[0]:,} / {counts[1]:,}" if any(counts) else ""


def others(comparison: Comparison) -> Table | None:
    """With three or more arms: each against the baseline."""
    rows = [
        (
            words.name(one.arm),
            one.verdict or "no verdict",
            words.composite(one.net_composite_gain, sign=True),
            f"{one.hard_regressions:,}",
            _delta(one.mean, one.measure),
            "–" if one.ci95 is None else f"{_delta(one.ci95[0], one.measure)} to {_delta(one.ci95[1], one.measure)}",
            words.p_value(one.p),
            words.p_value(one.p_holm),
            words.visible(one.choice),
        )
        for one in comparison.against_baseline
    ]
    heads = (
        "arm",
        "verdict",
        "net gain",
        "hard regressions",
        "mean delta",
        "95 % interval",
        "p",
        "p (Holm)",
        "decision",
    )
    return Table(heads, tuple(rows[:MOST_ARMS]), max(0, len(rows) - MOST_ARMS)) if rows else None


def _delta(value: float | None, measure: str) -> str:
    return words.points(value, sign=True) if measure == "pass_delta" else words.composite(value, sign=True)


def excluded(comparison: Comparison) -> Table | None:
    """Runs that count for nobody, by arm and reason."""
    rows = [
        (words.name(arm), words.visible(reason).replace("_", " "), f"{count:,}")
        for arm, reasons in comparison.excluded_by_arm.items()
        for reason, count in reasons.items()
    ]
    bad = comparison.excluded.get("bad_lines")
    if bad:
        rows.append(("–", "lines that could not be read", f"{bad:,}"))
    return Table(("arm", "reason", "runs"), tuple(rows)) if rows else None


def unpaired(comparison: Comparison) -> Table | None:
    """Runs without a partner in the other arm."""
    listed = comparison.paired.unpaired[:MOST_UNPAIRED]
    rows = tuple((words.name(run.task_id), words.name(run.arm), f"{run.repeat:,}") for run in listed)
    total = max(comparison.paired.unpaired_count, len(comparison.paired.unpaired))
    return Table(("task", "arm", "repeat"), rows, total - len(rows)) if rows else None


def named_run(run: NamedRun) -> tuple[str, ...]:
    """What came of one run: task, arm, repeat, pass or fail, checks, composite, time, cost, tokens, error."""
    checks = "–"
    if run.objective_total is not None:
        checks = f"{words.checks(run.objective_passed)} of {words.checks(run.objective_total)}"
    return (
        words.name(run.task_id),
        words.name(run.arm),
        f"{run.repeat:,}",
        "pass" if run.success else "fail",
        checks,
        words.composite(run.composite),
        words.seconds(run.duration_seconds),
        words.money(run.total_cost_usd),
        words.count(run.total_tokens),
        words.visible(run.error_class or "").replace("_", " "),
    )


def treatment(comparison: Comparison) -> Table | None:
    """How many runs met what their arm added, and what the treated runs alone say."""
    rows = []
    for one in comparison.treatment:
        treated = one.pass_delta is not None
        rows.append(
            (
                words.name(one.arm),
                f"{one.received:,} of {one.runs:,}" + (f" ({one.unknown:,} unknown)" if one.unknown else ""),
                ", ".join(words.name(file, 40) for file in one.files[:3]) + (", …" if len(one.files) > 3 else ""),
                words.points(comparison.paired.pass_delta.mean, sign=True),
                words.points(one.pass_delta.mean, sign=True) if one.pass_delta else "the same",
                words.composite(comparison.paired.composite_delta.mean, sign=True),
                words.composite(one.composite_delta.mean, sign=True) if treated and one.composite_delta else "the same",
            )
        )
    heads = (
        "arm",
        "runs that read it",
        "files",
        "pass, all runs",
        "pass, treated",
        "composite, all",
        "composite, treated",
    )
    return Table(heads, tuple(rows)) if rows else None


def hidden_gaps(comparison: Comparison) -> Table | None:
    """How often each arm passes the tests it could see, and those it could not."""
    rows = [
        (
            words.name(one.arm),
            f"{100 * one.visible:.0f} %",
            f"{100 * one.hidden:.0f} %",
            words.points(one.gap, sign=True),
            f"{one.runs:,}",
        )
        for one in comparison.hidden_gaps
    ]
    return Table(("arm", "passes in sight", "out of sight", "gap", "runs"), tuple(rows)) if rows else None


def _in_order(comparison: Comparison) -> list[str]:
    first = [comparison.baseline, comparison.candidate]
    return [*first, *(name for name in comparison.arms if name not in first)]


def _role(comparison: Comparison, name: str) -> str:
    """Which of the two an arm is, unless its name says so."""
    role = {comparison.baseline: "baseline", comparison.candidate: "candidate"}.get(name)
    return "" if role is None or role == name else f" ({role})"


def judged(comparison: Comparison) -> Table | None:
    """What the judge said of each arm: verdicts, mean ratings, ways of failing, and the price of judging."""
    heads = ("arm", "pass", "fail", "unparseable", "not judged", "completion", "adherence", "efficiency")
    rows = tuple(
        (
            words.name(one.arm),
            *(f"{count:,}" for count in (one.passed, one.failed, one.unparseable, one.not_run)),
            *(words.UNKNOWN if mean is None else f"{mean:.2f}" for mean in one.ratings.values()),
            ", ".join(f"{mode} {count:,}" for mode, count in one.failure_modes.items()) or "none",
            words.money(one.cost_usd),
            ", ".join(words.name(model) for model in one.models[:MOST_JUDGES]),
        )
        for one in comparison.judged
    )
    return Table((*heads, "failure modes", "cost", "judge"), rows) if rows else None


def disagreements(comparison: Comparison) -> Table | None:
    """Runs on which programs, judge and warnings do not say the same, by reading."""
    rows = tuple(
        (
            words.name(one.arm),
            one.reading,
            f"{one.runs:,}",
            ", ".join(words.name(run_id) for run_id in one.run_ids) + (", …" if one.runs > len(one.run_ids) else ""),
        )
        for one in comparison.disagreements
    )
    return Table(("arm", "reading", "runs", "see"), rows) if rows else None
