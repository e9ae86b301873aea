"""The whole answer against the rules written out again, plainly, run by run: any records, any gaps in them."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.compare.decision import MIXED, decide
from steelyard.compare.weigh import weigh
from steelyard.domain.comparison import ArmMetrics, Comparison
from steelyard.domain.run_record import RunRecord
from steelyard.errors import INFRASTRUCTURE
from steelyard.formulas.composite import Cost, composite, cost_adjustment, objective01, reference_cost
from tests.compare.support import record

count = st.none() | st.integers(0, 500)
fields = st.fixed_dictionaries(
    {
        "success": st.booleans(),
        "duration_seconds": st.sampled_from([0.0, 1.5, 10.0, 300.25]),
        "total_cost_usd": st.sampled_from([None, 0.0, 0.125, 2.5]),
        "input_tokens": count,
        "output_tokens": count,
        "cache_read_tokens": count,
        "cache_write_tokens": count,
        "step_count": count,
        "tool_call_count": count,
        "objective_passed": st.integers(0, 4),
        "objective_total": st.sampled_from([0, 4]),
        "judge01": st.none() | st.sampled_from([0.0, 0.25, 1.0]),
        "error_class": st.sampled_from([None, None, None, "agent_crashed", "network"]),
    }
)
cells = st.tuples(st.sampled_from("tuv"), st.sampled_from("ba"), st.integers(1, 3))
experiments = st.dictionaries(cells, fields, min_size=2, max_size=18).filter(
    lambda found: {arm for _, arm, _ in found} == {"a", "b"}
)
Cell = tuple[str, str, int]


def records(found: dict[Cell, dict[str, Any]]) -> list[RunRecord]:
    """Run records of these cells; checks passed are never more than there are."""
    runs = []
    for (task, arm, repeat), given_fields in found.items():
        passed = min(given_fields["objective_passed"], given_fields["objective_total"])
        runs.append(record(task, arm, repeat, **(given_fields | {"objective_passed": passed})))
    return runs


def weighed(runs: Sequence[RunRecord]) -> Comparison:
    """Arm `a` against baseline `b`."""
    return weigh(runs, "b", "a", min_repeats=1, resamples=50)


def counted(runs: Sequence[RunRecord], arm: str) -> dict[tuple[str, int], RunRecord]:
    """An arm's runs by task and repeat, without infrastructure failures."""
    return {(r.task_id, r.repeat): r for r in runs if r.arm == arm and r.error_class not in INFRASTRUCTURE}


def known(runs: Sequence[RunRecord], number: Callable[[RunRecord], float | None]) -> list[float]:
    """The numbers that are known."""
    return [value for value in map(number, runs) if value is not None]


def cost_of(run: RunRecord) -> Cost:
    """The four measures of cost."""
    return Cost(run.total_tokens, run.tool_call_count, run.step_count, run.duration_seconds)


def near(value: float | None, expected: float | None) -> bool:
    """The same to the sixth decimal, or both unknown."""
    return (
        value is expected if value is None or expected is None else abs(value - expected) <= 1e-6 * max(1, abs(value))
    )


@given(experiments)
def test_arm_metrics_are_the_seeds(found: dict[Cell, dict[str, Any]]) -> None:
    """Counts, sums and medians over the runs that count; unknown numbers are left out, never zero."""
    runs = records(found)
    answer = weighed(runs)
    for arm in "ab":
        mine, shown = list(counted(runs, arm).values()), answer.arms[arm]
        costs = known(mine, lambda r: r.total_cost_usd)
        total = sum(costs) if costs else None
        solved = sum(r.success for r in mine)
        assert (shown.runs, shown.successes) == (len(mine), solved)
        assert near(shown.success_rate, solved / len(mine) if mine else None)
        assert near(shown.total_cost_usd, total)
        assert near(shown.avg_cost_usd, total / len(costs) if total is not None else None)
        assert near(shown.solved_per_dollar, solved / total if total else None)
        for name, numbers in (
            ("median_cost_usd", costs),
            ("median_duration_seconds", known(mine, lambda r: r.duration_seconds)),
            ("median_total_tokens", known(mine, lambda r: r.total_tokens)),
            ("median_non_cache_tokens", known(mine, lambda r: r.non_cache_tokens)),
        ):
            assert near(getattr(shown, name), statistics.median(numbers) if numbers else None), name


@given(experiments)
def test_pairs_are_the_seeds(found: dict[Cell, dict[str, Any]]) -> None:
    """A pair is a (task, repeat) of both arms; the rest is unpaired; a delta is known where both sides are."""
    runs = records(found)
    paired = weighed(runs).paired
    base, cand = counted(runs, "b"), counted(runs, "a")
    both = sorted(base.keys() & cand.keys())
    assert paired.pairs == len(both)
    alone = {(*key, "b") for key in base.keys() - cand.keys()} | {(*key, "a") for key in cand.keys() - base.keys()}
    assert {(one.task_id, one.repeat, one.arm) for one in paired.unpaired} == alone
    measures: dict[str, Callable[[RunRecord], float | None]] = {
        "pass_delta": lambda r: float(r.success),
        "cost_delta_usd": lambda r: r.total_cost_usd,
        "duration_delta_seconds": lambda r: r.duration_seconds,
        "token_delta": lambda r: r.total_tokens,
    }
    for name, number in measures.items():
        sides = [(number(cand[key]), number(base[key])) for key in both]
        deltas = [after - before for after, before in sides if after is not None and before is not None]
        delta = getattr(paired, name)
        assert (delta.pairs, delta.unknown) == (len(deltas), len(both) - len(deltas))
        assert near(delta.mean, statistics.fmean(deltas) if deltas else None)
        assert near(delta.median, statistics.median(deltas) if deltas else None)


def composites(runs: Sequence[RunRecord]) -> dict[str, dict[str, float]]:
    """Mean composite by arm and task, from the scalar formula: the judge counts in a pair only where both have it."""
    base, cand = counted(runs, "b"), counted(runs, "a")
    lacking = {key[0] for side in (base, cand) for key, run in side.items() if run.judge01 is None}
    found: dict[str, dict[str, list[float]]] = {"b": {}, "a": {}}
    for arm, mine, other in (("b", base, cand), ("a", cand, base)):
        for (task, repeat), run in mine.items():
            partner = other.get((task, repeat))
            judged = partner.judge01 is not None if partner is not None else task not in lacking
            reference = [cost_of(r) for key, r in base.items() if key[0] == task] if arm == "a" else []
            adjustment = cost_adjustment(cost_of(run), reference_cost(reference)) if reference else 0.0
            rate = objective01(run.objective_passed or 0, run.objective_total or 0)
            found[arm].setdefault(task, []).append(composite(rate, run.judge01 if judged else None, adjustment))
    return {arm: {task: statistics.fmean(values) for task, values in tasks.items()} for arm, tasks in found.items()}


@given(experiments)
def test_the_verdict_is_the_seeds(found: dict[Cell, dict[str, Any]]) -> None:
    """Per-task composites, hard regressions and the verdict as the rules say, whatever is missing."""
    runs = records(found)
    answer = weighed(runs)
    means, base, cand = composites(runs), counted(runs, "b"), counted(runs, "a")
    rows = {row.task_id: row for row in answer.tasks}
    assert rows.keys() == means["b"].keys() | means["a"].keys()
    gain, hard = 0.0, set()
    for task, row in rows.items():
        before, after = means["b"].get(task), means["a"].get(task)
        assert near(row.baseline, before)
        assert near(row.candidate, after)
        if before is None:
            continue
        if after is None:
            lost = any(r.task_id == task and r.arm == "a" for r in runs)  # to infrastructure: not measured
            hard |= set() if lost else {(task, "missing_task")}
            continue
        gain += after - before
        if round(before - after, 6) > 0.05:
            hard.add((task, "composite_drop"))
        for kind, number in (
            ("objective_drop", lambda r: r.objective_passed),
            ("objective_rate_drop", lambda r: objective01(r.objective_passed, r.objective_total)),
        ):
            sides = [statistics.fmean(number(r) for k, r in arm.items() if k[0] == task) for arm in (base, cand)]
            if round(sides[0] - sides[1], 6) > 0:
                hard.add((task, kind))
    assert {(one.task_id, one.kind) for one in answer.regressions if one.hard} == hard
    if not base:
        assert answer.verdict is None
        return
    assert near(answer.net_composite_gain, gain)
    expected = "regressed" if hard else "improved" if round(gain, 6) > 0.01 else "neutral"
    assert answer.verdict == expected or abs(gain - 0.01) < 1e-5


def metrics(rate: float, seconds: float | None, tokens: float | None) -> ArmMetrics:
    """An arm that only has what the gates look at."""
    names = ("total_cost_usd", "avg_cost_usd", "median_cost_usd", "median_total_tokens", "solved_per_dollar")
    return ArmMetrics(
        runs=10,
        successes=int(10 * rate),
        success_rate=rate,
        median_duration_seconds=seconds,
        median_non_cache_tokens=tokens,
        **dict.fromkeys(names),  # type: ignore[arg-type]  # these fields may all be None
    )


number = st.none() | st.sampled_from([1.0, 2.0, 3.0])
arm_numbers = st.tuples(st.sampled_from([0.0, 0.5, 1.0]), number, number)


@given(arm_numbers, arm_numbers)
def test_the_decision_has_one_answer_from_both_sides(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> None:
    """Who is strictly worse at all three gates loses whichever arm is called the candidate."""
    one, two = metrics(*first), metrics(*second)
    ahead = decide(("one", one), ("two", two), 1, few=False).choice
    behind = decide(("two", two), ("one", one), 1, few=False).choice
    if ahead == "prefer two":
        assert behind == "prefer two"
    if ahead == behind == "prefer one":
        assert first != second
    if None in (*first, *second):
        assert {ahead, behind} == {MIXED}
    assert decide(("one", one), ("two", two), 0, few=False).choice == "insufficient data"


@settings(max_examples=50)
@given(experiments)
def test_swapping_the_arms_turns_every_delta_round(found: dict[Cell, dict[str, Any]]) -> None:
    """Mean and median of what is measured change their sign and p-values stay (the cost term knows its baseline)."""
    runs = records(found)
    one, two = weighed(runs).paired, weigh(runs, "a", "b", min_repeats=1, resamples=50).paired
    for name in ("pass_delta", "cost_delta_usd", "duration_delta_seconds", "token_delta"):
        ahead, behind = getattr(one, name), getattr(two, name)
        assert near(ahead.mean, None if behind.mean is None else -behind.mean)
        assert near(ahead.median, None if behind.median is None else -behind.median)
        assert ahead.p == behind.p
