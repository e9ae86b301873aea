"""The clustered bootstrap: agreement with SciPy without clusters, the right spread with them, the same bytes always."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from steelyard.compare import bootstrap
from steelyard.compare.bootstrap import Interval, intervals


def columns(seed: int, tasks: int, repeats: int) -> tuple[Any, Any]:
    """Five deltas with a spread between tasks and one within, and where the tasks begin."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(0, 0.8, (tasks * repeats, 5)) + np.repeat(rng.normal(0, 1, (tasks, 5)), repeats, axis=0)
    return values, np.arange(0, tasks * repeats, repeats)


def found(values: Any, starts: Any, resamples: int = 10_000) -> list[Interval]:
    """Intervals that must be there."""
    answer = intervals(values, starts, resamples)
    assert all(interval is not None for interval in answer)
    return [interval for interval in answer if interval is not None]


@pytest.mark.parametrize("size", [12, 60, 400])
def test_one_pair_per_task_agrees_with_scipy(size: int) -> None:
    """Without clusters this is the plain BCa bootstrap: the ends agree within a tenth of a standard error."""
    values, starts = columns(size, size, 1)
    for k, ours in enumerate(found(values, starts)):
        theirs = stats.bootstrap(
            (values[:, k],), np.mean, n_resamples=10_000, method="BCa", batch=500, rng=np.random.default_rng(1)
        )
        step = 0.1 * theirs.standard_error
        assert ours.method == "BCa"
        assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=step)
        assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=step)
        assert ours.standard_error == pytest.approx(theirs.standard_error, rel=0.05)


def plain_two_stage(values: Any, starts: Any, resamples: int) -> Any:
    """The definition, draw by draw: tasks, then pairs within each."""
    rng = np.random.default_rng(5)
    groups = np.split(values, starts[1:])
    means = []
    for _ in range(resamples):
        drawn = [
            groups[k][rng.integers(0, len(groups[k]), len(groups[k]))]
            for k in rng.integers(0, len(groups), len(groups))
        ]
        means.append(np.concatenate(drawn).mean(axis=0))
    return np.array(means)


@pytest.mark.parametrize("sizes", [[4] * 12, [1, 2, 3, 9, 30, 5, 5, 2]])
def test_the_pool_draws_what_the_definition_draws(sizes: list[int]) -> None:
    """Standard error and quantiles agree with a loop that resamples tasks and then pairs, also when uneven."""
    rng = np.random.default_rng(3)
    starts = np.cumsum([0, *sizes[:-1]])
    values = rng.normal(0, 1, (sum(sizes), 2)) + np.repeat(rng.normal(0, 1, (len(sizes), 2)), sizes, axis=0)
    slow = plain_two_stage(values, starts, 4000)
    sums = bootstrap.task_sums(values, starts)
    generator = np.random.Generator(np.random.SFC64(9))
    pool, counts = bootstrap._pool(values, starts, sums, generator)
    quick = bootstrap._replicates(pool, counts, len(starts), 10_000, generator)
    for k in range(2):
        assert quick[:, k].std() == pytest.approx(slow[:, k].std(), rel=0.06)
        for share in (0.025, 0.5, 0.975):
            expected = np.quantile(slow[:, k], share)
            assert np.quantile(quick[:, k], share) == pytest.approx(expected, abs=0.15 * slow[:, k].std())


def test_many_pairs_per_task_use_sums_of_the_same_spread() -> None:
    """Where the second stage would be too long, its sums are drawn with exactly its covariance."""
    values, starts = columns(8, 6, 2000)
    sums = bootstrap.task_sums(values, starts)
    drawn = bootstrap._normal_sums(values, starts, sums, 4000, np.random.default_rng(2))
    task = values[:2000]
    expected = 2000 * np.cov(task.T, ddof=0)
    assert np.cov(drawn[:, 0].T) == pytest.approx(expected, rel=0.12, abs=0.05 * expected.max())
    assert drawn.mean(axis=0) == pytest.approx(sums, abs=0.1 * math.sqrt(expected.max()))


def test_rescaling_keeps_the_mean_and_counts_noise_once() -> None:
    """Without any effect of tasks, the standard error is that of the mean of all pairs, not more."""
    values = np.random.default_rng(12).normal(0, 1, (200, 3))
    starts = np.arange(0, 200, 5)
    moved = bootstrap.rescaled(values, starts, bootstrap.task_sums(values, starts))
    assert moved.mean(axis=0) == pytest.approx(values.mean(axis=0))
    for k, interval in enumerate(found(values, starts)):
        plain = values[:, k].std(ddof=1) / math.sqrt(200)
        clustered = values[:, k].reshape(40, 5).mean(axis=1).std(ddof=1) / math.sqrt(40)
        assert min(plain, clustered) * 0.93 < interval.standard_error < max(plain, clustered) * 1.07


def test_repeats_that_agree_do_not_count_as_more_tasks() -> None:
    """Ten copies of each pair leave the interval where it was: they are one task, not ten."""
    values, starts = columns(4, 20, 1)
    copies = np.repeat(values, 10, axis=0)
    once, often = found(values, starts)[0], found(copies, starts * 10)[0]
    assert often.standard_error == pytest.approx(once.standard_error, rel=0.05)


def test_the_same_data_gives_the_same_bytes() -> None:
    """The seed comes from the data."""
    values, starts = columns(1, 10, 3)
    assert intervals(values, starts) == intervals(values.copy(), starts.copy())
    assert intervals(np.asfortranarray(values), starts) == intervals(values, starts)


@pytest.mark.parametrize("tasks", [0, 1, 4])
def test_fewer_than_five_tasks_have_no_interval(tasks: int) -> None:
    """It would not mean anything."""
    assert intervals(np.zeros((tasks, 2)), np.arange(tasks)) == [None, None]


def test_no_spread_is_an_interval_of_no_width() -> None:
    """All deltas equal: both ends are the mean."""
    interval = found(np.full((10, 1), 0.3), np.arange(10))[0]
    assert (interval.low, interval.high) == pytest.approx((0.3, 0.3))


def test_a_correction_that_is_not_defined_falls_back_to_percentiles() -> None:
    """A mean outside all replicates has no bias correction."""
    interval = bootstrap._bca(np.linspace(1, 2, 100), 5.0, 0.0)
    assert interval.method == "percentile"
    assert (interval.low, interval.high) == pytest.approx((1.025, 1.975))
