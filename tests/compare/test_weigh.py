"""Weighing two arms: the decision rule, the verdict, promotion, and every odd input with its stated result."""

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.compare.table import RecordTable
from steelyard.compare.weigh import MANY_RECORDS, weigh
from steelyard.domain.compare_spec import CompareSpec, Thresholds
from steelyard.domain.comparison import Comparison
from steelyard.domain.run_record import RunRecord
from steelyard.errors import InputError
from steelyard.formulas.composite import Cost, composite, cost_adjustment, objective01, reference_cost
from tests.compare.support import arms, record

TASKS = [f"t{k}" for k in range(6)]


def compare(records: list[RunRecord], **spec: Any) -> Comparison:
    """Arm `a` against baseline `b`."""
    return weigh(records, "b", "a", CompareSpec(**spec), resamples=500)


def kinds(answer: Comparison) -> list[tuple[str, str, bool]]:
    """The regressions by task, kind and hardness."""
    return [(r.task_id, r.kind, r.hard) for r in answer.regressions]


@pytest.mark.parametrize(
    ("success", "seconds", "tokens", "choice"),
    [
        ((1, 1), (10, 10), (100, 100), "prefer a"),  # equal on all three still holds
        ((1, 0), (9, 10), (90, 100), "prefer a"),
        ((0, 1), (11, 10), (110, 100), "prefer b"),
        ((1, 1), (11, 10), (110, 100), "mixed results - inspect paired deltas"),  # success did not flip strictly
        ((1, 0), (11, 10), (90, 100), "mixed results - inspect paired deltas"),
        ((0, 1), (9, 10), (90, 100), "mixed results - inspect paired deltas"),
        ((0, 1), (11, 10), (100, 100), "mixed results - inspect paired deltas"),
    ],
)
def test_the_decision_rule(
    success: tuple[int, int], seconds: tuple[int, int], tokens: tuple[int, int], choice: str
) -> None:
    """All three gates hold: the candidate; all three flip strictly: the baseline; else mixed."""
    both = [
        record("t", arm, success=bool(success[k]), duration_seconds=float(seconds[k]), input_tokens=tokens[k])
        for k, arm in enumerate("ab")
    ]
    assert compare(both).decision.choice == choice


def test_the_gates_are_stated_with_their_numbers() -> None:
    """Each gate says whether it holds and what it compared; few repeats make the decision provisional."""
    decision = compare([record("t", "b"), record("t", "a", duration_seconds=12.0)]).decision
    assert decision.gates.model_dump() == {"success_rate": True, "runtime": False, "tokens": True}
    assert decision.numbers["runtime"].model_dump() == {"candidate": 12.0, "baseline": 10.0}
    assert decision.provisional is True


def test_an_unknown_gate_prefers_nobody() -> None:
    """Tokens that one arm does not know can't be compared: mixed, and the gate is null."""
    answer = compare([record("t", "b"), record("t", "a", input_tokens=None)])
    assert answer.decision.gates.tokens is None
    assert answer.decision.choice == "mixed results - inspect paired deltas"


def test_arm_metrics_by_hand() -> None:
    """Every metric under the seed's name; medians are the mean of the middle two; unknown is counted."""
    runs = [
        record("t", "a", k, success=k != 2, duration_seconds=d, total_cost_usd=c, input_tokens=i)
        for k, (d, c, i) in enumerate([(1.0, 0.5, 10), (2.0, None, 20), (3.0, 1.5, 30), (10.0, 2.0, None)], start=1)
    ]
    metrics = compare([*runs, record("t", "b")]).arms["a"].model_dump()
    expected = {
        "runs": 4,
        "successes": 3,
        "success_rate": 0.75,
        "total_cost_usd": 4.0,
        "avg_cost_usd": round(4.0 / 3, 6),
        "median_cost_usd": 1.5,
        "median_duration_seconds": 2.5,
        "median_total_tokens": 85.0,
        "median_non_cache_tokens": 70.0,
        "solved_per_dollar": 0.75,
    }
    assert {name: metrics[name] for name in expected} == expected
    assert list(metrics)[:10] == list(expected)
    assert metrics["unknown"]["total_cost_usd"] == 1
    assert metrics["unknown"]["total_tokens"] == 1


@pytest.mark.parametrize("cost", [0.0, None])
def test_solved_per_dollar_is_null_without_dollars(cost: float | None) -> None:
    """A total of zero, or an unknown one, has no successes per dollar."""
    answer = compare([record("t", "b"), record("t", "a", total_cost_usd=cost)])
    assert answer.arms["a"].solved_per_dollar is None
    assert answer.arms["a"].total_cost_usd == cost


def test_paired_deltas_by_hand() -> None:
    """Candidate minus baseline for each (task, repeat) in both arms; the rest is listed as unpaired."""
    runs = [
        record("t", "b", 1, success=False, total_cost_usd=2.0, duration_seconds=10.0),
        record("t", "a", 1, success=True, total_cost_usd=1.0, duration_seconds=13.0, input_tokens=150),
        record("t", "b", 2),
        record("t", "a", 2, duration_seconds=11.0),
        record("t", "b", 3),
        record("u", "a", 7),
    ]
    paired = compare(runs).paired
    assert paired.pairs == 2
    assert [(u.task_id, u.repeat, u.arm) for u in paired.unpaired] == [("t", 3, "b"), ("u", 7, "a")]
    assert (paired.pass_delta.mean, paired.pass_delta.median) == (0.5, 0.5)
    assert (paired.cost_delta_usd.mean, paired.duration_delta_seconds.mean, paired.token_delta.mean) == (
        -0.5,
        2.0,
        25.0,
    )
    assert paired.composite_delta.mean is None


@pytest.mark.parametrize(
    ("baseline", "candidate", "verdict", "gain"),
    [
        ([0.5], [0.52], "improved", 0.02),
        ([0.5], [0.51], "neutral", 0.01),  # the gain must exceed 0.01
        ([0.5], [0.510001], "improved", 0.010001),
        ([0.5], [0.45], "neutral", -0.05),  # a drop of exactly 0.05 is not beyond it
        ([0.5], [0.449999], "regressed", -0.050001),
        ([0.1, 0.2], [0.3, 0.3], "improved", 0.15),
        ([0.7, 0.1], [0.8, 0.0], "neutral", 0.0),  # float noise decides nothing
        ([0.80000049], [0.74999951], "regressed", -0.050001),  # deltas are rounded, not what they are made of
    ],
)
def test_the_verdict_on_one_task(baseline: list[float], candidate: list[float], verdict: str, gain: float) -> None:
    """Thresholds are met by rounded numbers, strictly."""
    answer = compare(arms({"t": baseline}, {"t": candidate}))
    assert (answer.verdict, answer.net_composite_gain) == (verdict, gain)


def test_a_gain_elsewhere_never_makes_up_for_a_hard_regression() -> None:
    """One task falls beyond the threshold, the others rise: regressed, with task and numbers."""
    answer = compare(arms({"t": [0.5], "u": [0.5]}, {"t": [0.4], "u": [1.0]}))
    assert answer.verdict == "regressed"
    found = answer.regressions[0]
    assert (found.task_id, found.kind, found.baseline, found.candidate, found.delta) == (
        "t",
        "composite_drop",
        0.5,
        0.4,
        -0.1,
    )
    assert [row.regressions for row in answer.tasks] == [("composite_drop",), ()]


def test_thresholds_can_be_changed() -> None:
    """A wider drop and a larger gain are taken from the comparison's settings."""
    wide = Thresholds(regression_composite_drop=0.2, min_composite_gain=0.5)
    answer = compare(arms({"t": [0.5], "u": [0.5]}, {"t": [0.4], "u": [1.0]}), thresholds=wide)
    assert (answer.verdict, answer.net_composite_gain) == ("neutral", 0.4)


def test_a_dropped_task_is_a_hard_regression_and_a_new_one_is_no_gain() -> None:
    """The baseline's task that the candidate did not run counts against it; its own new task is only shown."""
    answer = compare(arms({"t": [0.5], "u": [0.5]}, {"t": [0.5], "v": [1.0]}))
    assert kinds(answer) == [("u", "missing_task", True)]
    assert answer.net_composite_gain == 0.0
    assert [(row.task_id, row.status) for row in answer.tasks] == [
        ("t", "both"),
        ("u", "baseline_only"),
        ("v", "candidate_only"),
    ]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("arm", ["a", "b"])
def test_a_score_that_is_not_finite_is_a_hard_regression(bad: float, arm: str) -> None:
    """On either side, and it never poisons the other numbers."""
    runs = [record("t", name, composite=bad if name == arm else 0.5) for name in "ab"]
    answer = compare([*runs, *arms({"u": [0.5]}, {"u": [0.9]})])
    assert kinds(answer) == [("t", "not_finite", True)]
    assert (answer.verdict, answer.net_composite_gain) == ("regressed", 0.4)


def checks(arm: str, passed: int, total: int, **fields: Any) -> RunRecord:
    """A record that states its objective checks."""
    return record("t", arm, objective_passed=passed, objective_total=total, **fields)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ((3, 3), (2, 3), ["objective_drop", "objective_rate_drop", "composite_drop"]),
        ((3, 3), (3, 4), ["objective_rate_drop", "composite_drop"]),
        ((4, 4), (3, 3), ["objective_drop"]),
        ((3, 4), (3, 3), []),
        ((0, 0), (0, 0), []),
    ],
)
def test_any_drop_in_checks_is_a_hard_regression(
    before: tuple[int, int], after: tuple[int, int], found: list[str]
) -> None:
    """In their number or in their rate, whatever is gained elsewhere."""
    answer = compare([checks("b", *before), checks("a", *after)])
    assert [r.kind for r in answer.regressions] == found


def test_the_objective_rule_can_be_switched_off() -> None:
    """Then only the composite's own drop counts."""
    off = Thresholds(objective_drop_is_regression=False, regression_composite_drop=0.5)
    assert compare([checks("b", 3, 3), checks("a", 2, 3)], thresholds=off).verdict == "neutral"


def test_composites_are_computed_anew_as_the_formula_says() -> None:
    """From checks, judge and the baseline's mean cost for the task: the scalar formula gives the same."""
    base = [
        checks("b", 1, 2, repeat=k, judge01=0.5, duration_seconds=s, tool_call_count=c, input_tokens=i)
        for k, (s, c, i) in enumerate([(10.0, 4, 100), (20.0, None, None)], start=1)
    ]
    mine = checks("a", 2, 2, repeat=1, judge01=0.75, duration_seconds=9.0, tool_call_count=8, input_tokens=135)
    answer = compare([*base, mine])

    def cost(run: RunRecord) -> Cost:
        return Cost(run.total_tokens, run.tool_call_count, run.step_count, run.duration_seconds)

    expected = composite(objective01(2, 2), 0.75, cost_adjustment(cost(mine), reference_cost([cost(r) for r in base])))
    assert answer.composite_source == "derived"
    assert answer.tasks[0].candidate == round(expected, 6)
    assert answer.tasks[0].baseline == 0.5


def test_a_judge_on_one_side_only_is_dropped_from_both() -> None:
    """The pair is compared on its checks alone, and the loss is counted."""
    answer = compare([checks("b", 1, 1, judge01=0.0), checks("a", 1, 1)])
    assert (answer.tasks[0].baseline, answer.tasks[0].candidate) == (1.0, 1.0)
    assert (answer.paired.judge_pairs, answer.paired.judge_pairs_lost) == (0, 1)
    assert any("one side only" in note for note in answer.notes)


def test_an_unpaired_run_keeps_its_judge_only_when_the_whole_task_is_judged() -> None:
    """Otherwise the arms would be on two scales."""
    runs = [checks("b", 1, 1, repeat=1, judge01=0.0), checks("a", 1, 1, repeat=2)]
    assert compare(runs).tasks[0].baseline == 1.0
    assert compare([runs[0], checks("a", 1, 1, repeat=2, judge01=0.0)]).tasks[0].baseline == 0.6


def test_without_composites_there_is_a_decision_and_no_verdict() -> None:
    """Records from elsewhere: verdict null, no promotion, the decision stands."""
    answer = compare([record("t", "b", success=False), record("t", "a")])
    assert (answer.verdict, answer.net_composite_gain, answer.promote) == (None, None, False)
    assert answer.decision.choice == "prefer a"


def test_infrastructure_failures_count_for_nobody() -> None:
    """They are left out of arms and pairs and counted; an agent's own failure stays in."""
    runs = [
        record("t", "b"),
        record("t", "a", success=False, error_class="network"),
        record("u", "b"),
        record("u", "a", success=False, error_class="agent_crashed"),
    ]
    answer = compare(runs)
    assert answer.excluded == {"network": 1}
    assert answer.excluded_by_arm == {"a": {"network": 1}}
    assert (answer.arms["a"].runs, answer.arms["a"].success_rate, answer.paired.pairs) == (1, 0.0, 1)


def test_a_task_that_only_infrastructure_lost_is_not_a_regression_but_blocks_promotion() -> None:
    """Never counted against the arm, and never promoted either."""
    runs = [*arms({"t": [0.1]}, {"t": [0.9]}), record("u", "b", composite=0.5)]
    answer = compare([*runs, record("u", "a", composite=0.0, error_class="sandbox_error")])
    assert (answer.verdict, kinds(answer)) == ("improved", [("u", "not_measurable", False)])
    assert answer.promote is False


def test_small_gains_add_up_before_they_are_rounded() -> None:
    """Thirty gains of 0.0004994 each are 0.014982, not thirty times what one of them is rounded to."""
    names = [f"t{k}" for k in range(30)]
    answer = compare(arms({name: [0.5] for name in names}, {name: [0.5004994] for name in names}))
    assert (answer.net_composite_gain, answer.verdict) == (0.014982, "improved")


def test_runs_of_tasks_that_regressed_are_named_with_what_came_of_them() -> None:
    """Three runs an arm, the candidate's first, on the worst task first; other tasks name none."""
    tasks = {"fine": [0.5] * 4, "bad": [0.5] * 4, "worse": [0.5] * 4}
    answer = compare(arms(tasks, {"fine": [0.5] * 4, "bad": [0.4] * 4, "worse": [0.1, 0.2, 0.3, 0.4]}))
    found = [(run.task_id, run.arm, run.repeat, run.composite) for run in answer.named_runs]
    assert found[:6] == [("worse", "a", k, k / 10) for k in (1, 2, 3)] + [("worse", "b", k, 0.5) for k in (1, 2, 3)]
    assert [task for task, *_ in found[6:]] == ["bad"] * 6
    first = answer.named_runs[0]
    assert (first.success, first.duration_seconds, first.total_tokens) == (True, 10.0, 165.0)
    assert (first.objective_total, first.error_class) == (None, None)


def test_nothing_but_infrastructure_failures_is_insufficient_data() -> None:
    """No run counts: no verdict, no numbers, no crash."""
    answer = compare([record("t", arm, error_class="interrupted", composite=0.5) for arm in "ab"])
    assert (answer.verdict, answer.decision.choice) == (None, "insufficient data")
    assert answer.arms["a"].success_rate is None
    assert answer.paired.pass_delta.mean is None
    assert not any("states a composite" in note for note in answer.notes)


def test_no_common_repeat_is_insufficient_data() -> None:
    """Arms that never meet on a (task, repeat) have no pair."""
    assert compare([record("t", "b", 1), record("t", "a", 2)]).decision.choice == "insufficient data"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("b", "c"), "no arm is called 'c'"),
        (("b", "b"), "both 'b'"),
        ((None, None), "--baseline and --candidate"),
    ],
)
def test_arms_are_never_guessed(names: tuple[str | None, str | None], message: str) -> None:
    """An unknown, a doubled or an unsaid arm is refused with the arms there are."""
    with pytest.raises(InputError, match=message):
        weigh([record("t", "b"), record("t", "a")], *names)


def test_one_arm_alone_is_refused() -> None:
    """There is nothing to weigh it against."""
    with pytest.raises(InputError, match="needs two arms"):
        weigh([record("t", "a")])


def test_with_two_arms_one_name_is_enough() -> None:
    """The other arm is the other side."""
    assert weigh([record("t", "x"), record("t", "y")], "x").candidate == "y"
    assert weigh([record("t", "x"), record("t", "y")], None, "x").baseline == "y"


def test_the_same_run_twice_is_refused() -> None:
    """A (task, arm, repeat) is one run; a retry of an infrastructure failure is not the same."""
    with pytest.raises(InputError, match="task 't', arm 'a', repeat 1 is there twice: runs 'x' and 'y'"):
        compare([record("t", "b"), record("t", "a", run_id="x"), record("t", "a", run_id="y")])
    assert compare([record("t", "b"), record("t", "a"), record("t", "a", error_class="network")]).paired.pairs == 1


def promotable(repeats: int = 5, gain: float = 0.2) -> list[RunRecord]:
    """Six tasks where the candidate is clearly better."""
    baseline = {task: [0.5 + 0.01 * k for k in range(repeats)] for task in TASKS}
    better = {task: [value + gain + 0.001 * k for value in values] for k, (task, values) in enumerate(baseline.items())}
    return arms(baseline, better)


def test_a_clear_gain_is_promoted() -> None:
    """Improved, no regression, five repeats, an interval above 0: nothing speaks against it."""
    answer = compare(promotable())
    assert (answer.verdict, answer.promote, answer.promote_reasons) == ("improved", True, ())
    low, _ = answer.paired.composite_delta.ci95 or (0.0, 0.0)
    assert low > 0


def test_too_few_repeats_are_never_promoted() -> None:
    """Improved, but with four repeats of each task the reason is named; the caller may ask for fewer."""
    answer = compare(promotable(repeats=4))
    assert (answer.verdict, answer.promote, answer.fewest_repeats) == ("improved", False, 4)
    assert "fewer than 5 repeats" in answer.promote_reasons[0]
    assert weigh(promotable(repeats=4), "b", "a", min_repeats=4, resamples=500).promote is True


def test_an_interval_that_holds_zero_is_never_promoted() -> None:
    """The sum of deltas is above the threshold, but the tasks do not agree on it."""
    spread = {task: [0.5] * 5 for task in TASKS}
    mixed = {
        task: [0.5 + delta] * 5 for task, delta in zip(TASKS, (0.4, -0.04, -0.04, -0.04, -0.04, -0.04), strict=True)
    }
    answer = compare(arms(spread, mixed))
    assert (answer.verdict, answer.promote) == ("improved", False)
    assert any("interval" in reason for reason in answer.promote_reasons)


def test_a_missing_measurement_that_could_decide_blocks_promotion() -> None:
    """The judge of the candidate is missing throughout: at worst its gain would be undone."""
    runs = []
    for task in TASKS:
        for k in range(1, 6):
            runs.append(record(task, "b", k, objective_passed=1, objective_total=2, judge01=1.0))
            runs.append(record(task, "a", k, objective_passed=2, objective_total=3))
    answer = compare(runs)
    assert (answer.verdict, answer.promote) == ("improved", False)
    assert any("missing could undo the gain" in reason for reason in answer.promote_reasons)


def test_significant_regressions_need_evidence() -> None:
    """One task falls in every one of ten repeats, another by luck of one repeat: only the first is hard."""
    steady = {"fall": [0.9] * 10, "luck": [0.9] * 10}
    later = {"fall": [0.7] * 10, "luck": [0.9] * 9 + [0.0]}
    records = arms(steady, later)
    assert {k[0] for k in kinds(compare(records)) if k[2]} == {"fall", "luck"}
    answer = compare(records, regressions="significant")
    assert kinds(answer) == [("fall", "composite_drop", True), ("luck", "composite_drop", False)]
    assert answer.verdict == "regressed"


@pytest.mark.parametrize(("failing", "hard"), [(2, False), (10, True)])
def test_the_lean_of_the_cost_term_is_no_evidence(failing: int, hard: bool) -> None:
    """Two of ten repeats failed and the rest differ in time by chance: a drop, but not shown. Ten of ten are."""
    seconds = [8.0, 12.0] * 5
    base = [checks("b", 4, 4, repeat=k, duration_seconds=s) for k, s in enumerate(seconds, start=1)]
    mine = [
        checks("a", 2 if k <= failing else 4, 4, repeat=k, duration_seconds=s)
        for k, s in enumerate(reversed(seconds), start=1)
    ]
    answer = compare([*base, *mine], regressions="significant")
    drop = next(one for one in answer.regressions if one.kind == "composite_drop")
    assert drop.hard is hard
    assert drop.p is not None
    assert (drop.p < 0.05) is hard


def test_a_drop_that_could_never_be_shown_is_not_measurable() -> None:
    """With three repeats no drop reaches 0.05: it does not regress, and does not promote either."""
    baseline = {task: [0.5] * 3 for task in TASKS}
    candidate = {task: [0.3 if task == "t0" else 0.9] * 3 for task in TASKS}
    answer = weigh(arms(baseline, candidate), "b", "a", CompareSpec(regressions="significant"), 3, 500)
    assert (answer.verdict, kinds(answer)) == ("improved", [("t0", "not_measurable", False)])
    assert answer.promote is False
    assert any("not measurable" in reason for reason in answer.promote_reasons)


def test_a_drop_that_its_pairs_show_is_hard_also_beside_a_clearer_one() -> None:
    """Five repeats of one of two tasks reach 0.05 once the other has taken the first place in Holm's order."""
    baseline = {"clear": [0.9] * 12, "short": [0.9] * 5}
    candidate = {"clear": [0.2] * 12, "short": [0.2] * 5}
    answer = compare(arms(baseline, candidate), regressions="significant")
    assert kinds(answer) == [("clear", "composite_drop", True), ("short", "composite_drop", True)]


def test_checks_that_one_arm_alone_states_are_not_weighed_against_successes() -> None:
    """Five checks passed on one side, a plain success on the other: no drop, and still one when success falls."""
    stated = [record("t", "b", k, objective_passed=5, objective_total=5, composite=0.5) for k in (1, 2)]
    plain = [record("t", "a", k, composite=0.9) for k in (1, 2)]
    assert kinds(compare([*stated, *plain])) == []
    failed = [record("t", "a", k, composite=0.9, success=False) for k in (1, 2)]
    assert {kind for _, kind, _ in kinds(compare([*stated, *failed]))} == {"objective_drop", "objective_rate_drop"}


def test_a_task_without_a_baseline_is_no_missing_measurement() -> None:
    """What only the candidate ran has nothing to be cheaper than: its cost is not called unknown."""
    known = {"objective_passed": 1, "objective_total": 1}
    runs = [record("t", "b", **known), record("t", "a", **known), record("new", "a", **known)]
    assert not any("cost" in note for note in compare(runs).notes)


def test_few_tasks_have_no_interval_and_say_so() -> None:
    """Four tasks: mean and exact p-value, no interval, and a note."""
    tasks = {task: [0.5] * 5 for task in TASKS[:4]}
    answer = compare(arms(tasks, {task: [0.6] * 5 for task in tasks}))
    assert answer.paired.composite_delta.ci95 is None
    assert answer.paired.composite_delta.p == 0.125
    assert any("at least 5 tasks" in note for note in answer.notes)


@pytest.mark.parametrize(("tasks", "share"), [(5, "80 to 86 %"), (9, "86 to 90 %"), (29, "90 to 93 %"), (30, None)])
def test_an_interval_from_few_tasks_says_how_far_to_trust_it(tasks: int, share: str | None) -> None:
    """Below 30 tasks a note says how often such an interval holds the truth."""
    names = [f"t{k}" for k in range(tasks)]
    rising = {name: [0.5, 0.5 + k / 80] for k, name in enumerate(names)}
    answer = compare(arms({name: [0.5, 0.5] for name in names}, rising))
    assert answer.paired.composite_delta.ci95 is not None
    warnings = [note for note in answer.notes if "a 95 % interval of so few is too narrow" in note]
    assert len(warnings) == (share is not None)
    assert share is None or share in warnings[0]


def test_pairs_without_any_difference_tell_nothing_about_chance() -> None:
    """Every pair gained the same: an interval without width, and no claim of what the design could have seen."""
    answer = compare(arms({task: [0.5] * 2 for task in TASKS}, {task: [0.75] * 2 for task in TASKS}))
    delta = answer.paired.composite_delta
    assert (delta.ci95, delta.method, delta.minimum_detectable) == ((0.25, 0.25), "percentile", None)
    assert any("no two pairs differed in" in note and "composite delta" in note for note in answer.notes)


def test_three_arms_are_all_shown_against_the_baseline() -> None:
    """p-values are adjusted for the number of arms."""
    others = [r.model_copy(update={"arm": "c", "composite": 0.5}) for r in promotable() if r.arm == "a"]
    answer = compare([*promotable(), *others])
    assert [(row.arm, row.verdict) for row in answer.against_baseline] == [("a", "improved"), ("c", "neutral")]
    first = answer.against_baseline[0]
    assert first.p is not None
    assert first.p_holm == pytest.approx(2 * first.p)
    assert set(answer.arms) == {"a", "b", "c"}
    assert answer.arms["c"].mean_composite == 0.5


def test_the_json_has_the_contracts_names() -> None:
    """Programs rely on these names."""
    document = compare(promotable()).model_dump(mode="json")
    assert list(document)[:12] == [
        *("baseline", "candidate", "verdict", "promote", "net_composite_gain", "tasks", "regressions", "decision"),
        *("arms", "paired", "excluded", "notes"),
    ]
    assert list(document["paired"])[:7] == [
        *("pairs", "unpaired", "pass_delta", "cost_delta_usd", "duration_delta_seconds", "token_delta"),
        "composite_delta",
    ]
    assert list(document["tasks"][0])[:5] == ["task_id", "baseline", "candidate", "delta", "regressions"]
    assert list(document["paired"]["pass_delta"])[:4] == ["mean", "median", "ci95", "p"]


composites_of = st.lists(st.floats(0, 1), min_size=1, max_size=3)
suites = st.dictionaries(st.sampled_from(["t", "u", "v"]), composites_of, min_size=1)


@given(suites, suites, st.randoms(use_true_random=False))
def test_the_order_of_records_never_matters(
    baseline: dict[str, list[float]], candidate: dict[str, list[float]], shuffler: random.Random
) -> None:
    """The same records in any order give the same bytes."""
    records = arms(baseline, candidate)
    mixed = list(records)
    shuffler.shuffle(mixed)
    assert compare(mixed).model_dump_json() == compare(records).model_dump_json()


@given(suites, suites, st.floats(0, 1))
def test_raising_the_candidate_never_makes_the_verdict_worse(
    baseline: dict[str, list[float]], candidate: dict[str, list[float]], lift: float
) -> None:
    """Regressed, neutral, improved: a higher composite moves along this order or not at all."""
    order = ["regressed", "neutral", "improved"]
    higher = {task: [min(1.0, value + lift) for value in values] for task, values in candidate.items()}
    before, after = compare(arms(baseline, candidate)), compare(arms(baseline, higher))
    assert order.index(after.verdict or "") >= order.index(before.verdict or "")


@given(suites, suites)
def test_a_promotion_is_always_improved_without_hard_regressions(
    baseline: dict[str, list[float]], candidate: dict[str, list[float]]
) -> None:
    """Whatever the data, the gate is fail-closed."""
    answer = weigh(arms(baseline, candidate), "b", "a", min_repeats=1, resamples=200)
    hard = any(regression.hard for regression in answer.regressions)
    assert (answer.verdict == "regressed") == hard
    assert not answer.promote or (answer.verdict == "improved" and not hard and not answer.promote_reasons)


def test_many_records_are_weighed_side_by_side_with_the_same_answer() -> None:
    """Above the size where parts run at once, the answer is the same each time and the numbers are the plain ones."""
    tasks, repeats = 50, MANY_RECORDS // 100
    count = 2 * tasks * repeats
    rng = np.random.default_rng(1)
    composite, success = rng.random(count), rng.random(count) < 0.5
    row = np.arange(count)
    table = RecordTable(
        tasks=tuple(f"t{k:02d}" for k in range(tasks)),
        arms=("a", "b"),
        errors=(),
        task=row // (2 * repeats),
        arm=row // repeats % 2,
        error=np.full(count, -1),
        repeat=row % repeats + 1,
        success=success,
        numbers={"composite": composite, "duration_seconds": rng.random(count)},
        run_ids=[f"r{k}" for k in range(count)],
    )
    first, second = (weigh(table, "b", "a", resamples=100) for _ in range(2))
    assert first.model_dump_json() == second.model_dump_json()
    by_arm = composite.reshape(tasks, 2, repeats)
    assert first.paired.composite_delta.mean == pytest.approx((by_arm[:, 0] - by_arm[:, 1]).mean(), abs=1e-6)
    assert (first.arms["a"].runs, first.arms["a"].successes) == (
        count // 2,
        success.reshape(tasks, 2, repeats)[:, 0].sum(),
    )
    assert first.tasks[1].candidate_run_ids[:2] == (f"r{2 * repeats}", f"r{2 * repeats + 1}")
