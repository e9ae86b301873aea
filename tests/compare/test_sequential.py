"""Early stopping: right at any stopping time, the same in any order, and fair to both arms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.compare.sequential import decide, interval, log_capital, waves_of
from steelyard.compare.table import RecordTable, table_of
from steelyard.domain.run_record import RunRecord

ARMS = ("before", "after")
SHAPES = st.tuples(st.integers(1, 8), st.integers(1, 6))
DELTAS = arrays(np.float64, SHAPES, elements=st.floats(-1, 1, width=32))


def ever_decided(rng: np.random.Generator, kind: str, waves: int, tasks: int) -> bool:
    """Whether a look after any wave calls a difference where there is none."""
    if kind == "binary":
        rate = rng.beta(2, 2, (1, tasks))
        deltas = (rng.random((waves, tasks)) < rate).astype(float) - (rng.random((waves, tasks)) < rate)
    elif kind == "tasks differ":
        push = np.linspace(-0.4, 0.4, tasks)
        deltas = np.clip(push + rng.uniform(-0.5, 0.5, (waves, tasks)), -1, 1)
    elif kind == "rare and large":
        deltas = np.where(rng.random((waves, tasks)) < 0.05, 0.95, -0.05)
    else:
        deltas = rng.uniform(-0.05, 0.05, (waves, tasks))
    needed = math.log(2 / 0.05)
    looks = (deltas[:wave].ravel() for wave in range(1, waves + 1))
    return any(log_capital(seen, 0.0) >= needed or log_capital(-seen, 0.0) >= needed for seen in looks)


@pytest.mark.parametrize("kind", ["binary", "tasks differ", "rare and large", "tiny"])
def test_looking_after_every_wave_is_free(kind: str) -> None:
    """Of 200 experiments without a difference, looked at 20 times each, at most 5 % are ever called."""
    rng = np.random.default_rng(8)

    called = sum(ever_decided(rng, kind, waves=20, tasks=5) for _ in range(200))

    assert called <= 10


@settings(deadline=None, max_examples=50)
@given(DELTAS, st.randoms(use_true_random=False))
def test_order_does_not_matter(deltas: np.ndarray, random: "np.random.Generator") -> None:
    """Runs of a wave, and waves, may come in any order: the answer is the same to the last bit."""
    flat = deltas.ravel().tolist()
    random.shuffle(flat)

    assert decide(np.array(flat).reshape(deltas.shape)) == decide(deltas)


@settings(deadline=None, max_examples=50)
@given(DELTAS)
def test_arms_are_treated_alike(deltas: np.ndarray) -> None:
    """With the arms swapped, improved is regressed and the interval is mirrored."""
    there, back = decide(deltas), decide(-deltas)

    mirrored = {"improved": "regressed", "regressed": "improved"}
    assert back.decision == mirrored.get(there.decision, there.decision)
    assert back.interval == (-there.interval[1], -there.interval[0])


@settings(deadline=None, max_examples=50)
@given(DELTAS, st.floats(-0.9, 0.9), st.floats(0, 0.5))
def test_a_better_run_never_hurts(deltas: np.ndarray, bound: float, step: float) -> None:
    """Capital rises with every delta and falls as the bound rises; the interval's ends rise with the deltas."""
    better = np.minimum(deltas + step, 1)

    assert log_capital(better.ravel(), bound) >= log_capital(deltas.ravel(), bound) - 1e-9
    assert log_capital(deltas.ravel(), min(bound + step, 0.95)) <= log_capital(deltas.ravel(), bound) + 1e-9
    assert all(new >= old - 1e-9 for new, old in zip(interval(better), interval(deltas), strict=True))


@settings(deadline=None, max_examples=50)
@given(DELTAS, st.floats(0.01, 0.5), st.floats(0.01, 0.3))
def test_the_decision_is_read_off_the_interval(deltas: np.ndarray, margin: float, alpha: float) -> None:
    """Above 0, below 0, inside the margin, or none of them; a stricter alpha widens the interval."""
    found = decide(deltas, alpha, margin)

    low, high = found.interval
    assert -1 <= low <= high <= 1
    assert low <= np.clip(deltas, -1, 1).mean() + 1e-9
    edge = 1e-9  # on the very edge the two may round apart
    if found.decision == "improved":
        assert low >= -edge
    elif found.decision == "regressed":
        assert high <= edge
    elif found.decision == "no_difference":
        assert low >= -margin - edge
        assert high <= margin + edge
    else:
        assert low <= edge
        assert high >= -edge
    wider = interval(deltas, alpha / 2)
    assert wider[0] <= low + edge
    assert wider[1] >= high - edge


def test_nothing_is_decided_before_the_first_wave() -> None:
    """No wave: the whole range is possible, and the evidence is 1."""
    found = decide(np.zeros((0, 3)))

    assert (found.decision, found.waves, found.mean, found.interval) == ("undecided", 0, None, (-1.0, 1.0))
    assert found.e_value == pytest.approx(1)


@pytest.mark.parametrize(("delta", "decision"), [(1.0, "improved"), (-1.0, "regressed"), (0.0, "no_difference")])
def test_a_clear_case_is_decided(delta: float, decision: str) -> None:
    """Forty waves of five tasks that always differ by so much, or never."""
    assert decide(np.full((40, 5), delta)).decision == decision


def test_more_evidence_than_a_float_holds_stays_finite() -> None:
    """Twenty thousand pairs of 1 are written as JSON like any other."""
    assert math.isfinite(decide(np.ones((1000, 20))).e_value)


def record(task: str, arm: str, repeat: int, **more: object) -> RunRecord:
    """A counted run of 10 seconds that passed its one check."""
    values = {
        "run_id": f"{task}-{arm}-{repeat}",
        "task_id": task,
        "arm": arm,
        "repeat": repeat,
        "success": True,
        "duration_seconds": 10.0,
        "total_cost_usd": None,
        "input_tokens": None,
        "output_tokens": None,
        "cache_read_tokens": None,
        "cache_write_tokens": None,
        "objective_passed": 1,
        "objective_total": 1,
        **more,
    }
    return RunRecord.model_validate(values, strict=False)


def two_waves(**changed: object) -> RecordTable:
    """Two tasks, two repeats; `changed` goes to the last run of the candidate."""
    return table_of(
        record(task, arm, repeat, **(changed if (task, arm, repeat) == ("b", "after", 2) else {}))
        for task in "ab"
        for arm in ARMS
        for repeat in (1, 2)
    )


def test_a_wave_without_all_its_pairs_waits() -> None:
    """An infrastructure failure of one run leaves its repeat out, whole."""
    waves = waves_of(two_waves(error_class="network"), ARMS, ["a", "b"])

    assert (waves.repeats, waves.incomplete, waves.deltas.shape) == ((1,), (2,), (1, 2))


def test_a_task_that_never_ran_keeps_every_wave_waiting() -> None:
    """The experiment's tasks count, not those that happen to have runs."""
    assert waves_of(two_waves(), ARMS, ["a", "b", "c"]).repeats == ()


def test_pass_deltas_and_composites() -> None:
    """A failed candidate run is -1 in both, with the cost term aside."""
    table = two_waves(success=False, objective_passed=0)

    assert waves_of(table, ARMS, ["a", "b"], "pass_delta").deltas.tolist() == [[0, 0], [0, -1]]
    assert waves_of(table, ARMS, ["a", "b"]).deltas.tolist() == [[0, 0], [0, -1]]


def test_cost_counts_for_either_arm_also_at_the_top() -> None:
    """Half the time is worth as much as double the time costs, though a composite can't exceed 1."""
    faster = waves_of(two_waves(duration_seconds=5.0), ARMS, ["a", "b"]).deltas[1, 1]
    slower = waves_of(two_waves(duration_seconds=20.0), ARMS, ["a", "b"]).deltas[1, 1]

    assert faster == pytest.approx(0.05)
    assert slower == pytest.approx(-faster)


def test_a_later_wave_changes_no_earlier_delta() -> None:
    """Each pair is weighed on its own: what was seen stays as it was seen."""
    calm = waves_of(two_waves(), ARMS, ["a", "b"]).deltas[0]
    wild = waves_of(two_waves(duration_seconds=900.0), ARMS, ["a", "b"]).deltas[0]

    assert calm.tolist() == wild.tolist()
