"""p-values: agreement with SciPy, exactness, and Holm's correction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.compare.normal import student_quantile
from steelyard.compare.significance import attainable, drop_p_values, holm, mcnemar, sign_flip

deltas = st.lists(st.integers(-5, 5), min_size=2, max_size=8)


@given(deltas)
def test_few_tasks_are_exact_as_in_scipy(values: list[int]) -> None:
    """With one pair per task this is SciPy's sign-flip permutation test."""
    data = np.array(values, dtype=np.float64)
    theirs = stats.permutation_test((data,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False)
    assert sign_flip(data[:, None], 0)[0] == pytest.approx(theirs.pvalue)


def test_many_tasks_come_close_to_the_t_test() -> None:
    """Random flips give nearly what the t-test gives on plain data, and never 0."""
    data = np.random.default_rng(2).normal(0.25, 1, 100)
    ours = sign_flip(data[:, None], 7)[0]
    assert ours == pytest.approx(stats.ttest_1samp(data, 0).pvalue, abs=0.01)
    assert sign_flip(np.full((100, 1), 1.0), 7)[0] == pytest.approx(1 / 10_001)


def test_all_columns_are_tested_at_once() -> None:
    """Each column gets its own p-value from the same flips."""
    assert sign_flip(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), 0) == [0.25, 1.0]


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(gained: int, lost: int) -> None:
    """The exact two-sided binomial test of pairs that changed."""
    expected = stats.binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
    assert mcnemar(gained, lost) == pytest.approx(expected)


@pytest.mark.parametrize(("gained", "lost"), [(600, 700), (5000, 5100), (120_000, 119_000)])
def test_mcnemar_of_many_pairs(gained: int, lost: int) -> None:
    """Sums by logarithms agree with SciPy too."""
    assert mcnemar(gained, lost) == pytest.approx(stats.binomtest(gained, gained + lost, 0.5).pvalue, rel=1e-6)


def test_holm_by_hand() -> None:
    """The smallest is multiplied by all, the next by one fewer, and none is below the one before."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_never_lowers_and_keeps_the_order(values: list[float]) -> None:
    """An adjusted p-value is at least the raw one, at most 1, and in the same order."""
    adjusted = holm(values)
    assert all(raw <= new <= 1 for raw, new in zip(values, adjusted, strict=True))
    ranked = [adjusted[k] for k in sorted(range(len(values)), key=values.__getitem__)]
    assert ranked == sorted(ranked)


@given(deltas)
def test_a_drop_is_tested_on_its_own_pairs(values: list[int]) -> None:
    """One-sided and exact: SciPy's sign-flip test with `less`."""
    data = np.array(values, dtype=np.float64)
    theirs = stats.permutation_test(
        (data,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="less", vectorized=False
    )
    assert drop_p_values(data, np.array([0]))[0] == pytest.approx(theirs.pvalue)


def test_many_pairs_of_one_task_use_the_normal_tail() -> None:
    """Close to the exact share for 40 pairs, and never below what is attainable."""
    data = np.random.default_rng(4).normal(-0.3, 1, 40)
    theirs = stats.permutation_test(
        (data,),
        np.sum,
        permutation_type="samples",
        n_resamples=20_000,
        alternative="less",
        rng=np.random.default_rng(1),
    )
    assert drop_p_values(data, np.array([0]))[0] == pytest.approx(theirs.pvalue, abs=0.01)
    assert drop_p_values(np.full(14, -1.0), np.array([0]))[0] >= attainable(14)


@pytest.mark.parametrize(("lost", "gained", "same"), [(3, 0, 17), (9, 4, 0), (14, 6, 20), (30, 18, 2), (0, 0, 15)])
def test_pass_and_fail_in_many_repeats_agree_with_the_toss_of_a_coin(lost: int, gained: int, same: int) -> None:
    """Pairs that did not change are no evidence, however many: the sign test of the others."""
    data = np.array([-1.0] * lost + [1.0] * gained + [0.0] * same)
    exact = stats.binom.cdf(gained, lost + gained, 0.5)
    assert drop_p_values(data, np.array([0]))[0] == pytest.approx(exact, abs=0.003)


@pytest.mark.parametrize("freedom", [4, 9, 29, 999])
@pytest.mark.parametrize("share", [0.8, 0.9, 0.975, 0.995])
def test_students_quantiles(freedom: int, share: float) -> None:
    """Within half a percent of SciPy's."""
    assert student_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=0.005)
