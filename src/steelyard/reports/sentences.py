"""Why the verdict is what it is, whether to promote, and how it was found out: in plain sentences."""

from collections.abc import Sequence

from steelyard.domain.comparison import Comparison, Regression
from steelyard.reports import words

MOST_REASONS = 6


def why(comparison: Comparison) -> str:
    """The verdict's reason in one sentence or two."""
    hard = sum(one.hard for one in comparison.regressions)
    gain = comparison.net_composite_gain
    shared = sum(row.status == "both" and row.delta is not None for row in comparison.tasks)
    threshold = comparison.thresholds.get("min_composite_gain", 0.01)
    if comparison.verdict is None:
        if not any(arm.runs for arm in comparison.arms.values()):
            return "No run could be measured: every one failed for an infrastructure reason."
        if not comparison.arms[comparison.baseline].runs:
            return "No run of the baseline could be measured, so there is nothing to weigh against."
        return "The records state no composites, so there is no verdict; the decision rule below still applies."
    summed = f"composites of {words.many(shared, 'task')} add up to a gain of {words.composite(gain, sign=True)}"
    if comparison.verdict == "regressed":
        tasks = len({one.task_id for one in comparison.regressions if one.hard})
        return (
            f"{words.many(hard, 'hard regression')} on {words.many(tasks, 'task')}: one is enough, "
            f"whatever the rest gained ({summed})."
        )
    soft = len({one.task_id for one in comparison.regressions})
    none = (
        "no task regressed" if not soft else f"no regression is hard (drops on {words.many(soft, 'task')} are in doubt)"
    )
    if comparison.verdict == "improved":
        return f"The {summed}, more than {threshold:g}, and {none}."
    if comparison.paired.pairs == 0:
        return "No run of one arm has a partner in the other: there is nothing to compare."
    return f"The {summed}, not more than {threshold:g}, and {none}."


_DROPS = {
    "objective_drop": ("objective checks passed", words.checks),
    "objective_rate_drop": ("rate of checks passed", words.percent),
    "composite_drop": ("composite", words.composite),
}


FEW = "; too few repeats to ever show it"


def regression_details(reasons: Sequence[Regression]) -> tuple[str, ...]:
    """What fell from where to where on one task; other regressions in the words they came with."""
    details = [_detail(one) for one in reasons]
    doubtful = any(detail.endswith(FEW) for detail in details)
    return (*(detail.removesuffix(FEW) for detail in details), *((FEW.removeprefix("; "),) if doubtful else ()))


def _detail(one: Regression) -> str:
    if one.kind not in _DROPS or one.baseline is None or one.candidate is None:
        return words.visible(one.detail)
    label, show = _DROPS[one.kind]
    chance = "" if one.p is None else f" (p {'' if one.p < 0.0001 else '= '}{words.p_value(one.p)})"
    return f"{label} {show(one.baseline)} → {show(one.candidate)}{chance}"


def promotion(comparison: Comparison) -> str:
    """Whether to promote the candidate, and every reason against it."""
    if comparison.promote:
        return "yes: improved, enough repeats, no hard regression and no doubt left"
    reasons = [words.visible(reason) for reason in comparison.promote_reasons]
    more = f"; and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
    return f"no: {'; '.join(reasons[:MOST_REASONS])}{more}"


def method(comparison: Comparison) -> tuple[str, ...]:
    """How the numbers came about, for somebody who has to trust them."""
    drop = comparison.thresholds.get("regression_composite_drop", 0.05)
    gain = comparison.thresholds.get("min_composite_gain", 0.01)
    objective = comparison.thresholds.get("objective_drop_is_regression", True)
    composites = (
        "Each run has a composite between 0 and 1: 60 % objective checks and 40 % judge (checks alone where the judge "
        "did not score both sides), moved by at most 0.1 for using less or more than the baseline did on that task."
    )
    lines = [
        composites,
        f"Verdict: per task, the composites of an arm are averaged over its repeats. Improved means that the changes "
        f"add up to more than {gain:g} and no task regressed. A task regressed when its composite fell by more than "
        f"{drop:g}"
        + (", when fewer objective checks passed" if objective else "")
        + ", when the candidate did not run it, or when a score is not a finite number.",
    ]
    if comparison.thresholds.get("regressions") == "significant":
        lines.append(
            "A drop counts as hard only when the task's own pairs show it at the 5 % level after Holm's correction; "
            "a drop that so few repeats could never show is called not measurable and blocks promotion alone."
        )
    lines.append(
        "Decision: the candidate is preferred when its success rate is no lower and its median runtime and non-cache "
        "tokens are no higher; the baseline when all three are strictly the other way round; otherwise it is mixed."
    )
    if comparison.method:
        lines.append(words.visible(comparison.method))
    lines.append(
        "Runs that failed for an infrastructure reason count for nobody. A number that is not known is called unknown "
        "and left out, never taken as zero."
    )
    return tuple(lines)
