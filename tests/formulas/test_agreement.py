"""Agreement: Cohen's kappa against tables worked by hand, its bounds, its interval, and tries of one judge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.formulas.agreement import agreement, cohen_kappa, kappa_spread, retest

VERDICTS = st.sampled_from(["PASS", "FAIL"])
PAIRS = st.lists(st.tuples(VERDICTS, VERDICTS), max_size=60)


def table(pass_pass: int, pass_fail: int, fail_pass: int, fail_fail: int) -> list[tuple[str, str]]:
    """Pairs that make this table."""
    cells = {
        ("PASS", "PASS"): pass_pass,
        ("PASS", "FAIL"): pass_fail,
        ("FAIL", "PASS"): fail_pass,
        ("FAIL", "FAIL"): fail_fail,
    }
    return [pair for pair, count in cells.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("cells", "share", "kappa"),
    [
        ((20, 5, 10, 15), 0.7, 0.4),  # p_e = (25·30 + 25·20) / 2500 = 0.5
        ((45, 15, 25, 15), 0.6, 3 / 23),  # p_e = (60·70 + 40·30) / 10000 = 0.54
        ((25, 35, 5, 35), 0.6, 7 / 27),  # p_e = (60·30 + 40·70) / 10000 = 0.46
        ((10, 0, 0, 10), 1.0, 1.0),
        ((0, 10, 10, 0), 0.0, -1.0),
        ((25, 25, 25, 25), 0.5, 0.0),
        ((9, 1, 0, 0), 0.9, 0.0),  # one side says PASS of all: chance explains it
    ],
)
def test_tables_worked_by_hand(cells: tuple[int, int, int, int], share: float, kappa: float) -> None:
    """Share and kappa are what the formula gives on paper."""
    pairs = table(*cells)

    assert agreement(pairs) == pytest.approx(share)
    assert cohen_kappa(pairs) == pytest.approx(kappa)


def test_three_kinds_by_hand() -> None:
    """Kappa takes any number of kinds: p_o = 5/8, p_e = (4·3 + 2·3 + 2·2) / 64 = 22/64."""
    pairs = [("A", "A")] * 3 + [("A", "B")] + [("B", "B")] + [("B", "C")] + [("C", "C")] + [("C", "B")]

    assert cohen_kappa(pairs) == pytest.approx((5 / 8 - 22 / 64) / (1 - 22 / 64))


@pytest.mark.parametrize("pairs", [[], table(7, 0, 0, 0), table(0, 0, 0, 3)])
def test_nothing_to_tell_is_none(pairs: list[tuple[str, str]]) -> None:
    """No pairs, or one and the same word for all runs on both sides: kappa is undefined, never 1."""
    assert cohen_kappa(pairs) is None


@given(PAIRS)
def test_kappa_is_bounded_and_symmetric(pairs: list[tuple[str, str]]) -> None:
    """Between -1 and 1, and the same whoever comes first."""
    kappa = cohen_kappa(pairs)

    assert kappa == cohen_kappa([(b, a) for a, b in pairs])
    if kappa is not None:
        assert -1 <= kappa <= 1


@given(st.lists(VERDICTS, min_size=2, max_size=60).filter(lambda verdicts: len(set(verdicts)) > 1))
def test_perfect_agreement_is_one(verdicts: list[str]) -> None:
    """Exactly, whatever the mix."""
    assert cohen_kappa([(verdict, verdict) for verdict in verdicts]) == 1.0


@given(PAIRS, st.integers(2, 5))
def test_more_of_the_same_changes_nothing(pairs: list[tuple[str, str]], times: int) -> None:
    """Kappa looks at shares only."""
    once, more = cohen_kappa(pairs), cohen_kappa(pairs * times)

    assert (once is None) == (more is None)
    if once is not None:
        assert more == pytest.approx(once)


def test_the_interval_holds_kappa_and_is_the_same_again() -> None:
    """Drawn by whole tasks, with a seed from the data: the order of the labels changes nothing."""
    pairs = table(20, 5, 10, 15)
    tasks = [f"t{number % 10}" for number in range(50)]

    spread = kappa_spread(pairs, tasks)

    assert spread is not None
    assert spread.unit == "task"
    assert -1 <= spread.low < 0.4 < spread.high <= 1
    assert spread == kappa_spread(pairs[::-1], tasks[::-1])


def test_whole_tasks_are_drawn() -> None:
    """Runs that only repeat their task's answer narrow nothing: five tasks stay five."""
    few = [("PASS", "PASS"), ("PASS", "FAIL"), ("FAIL", "FAIL"), ("FAIL", "FAIL"), ("PASS", "PASS")]
    many = kappa_spread([pair for pair in few for _ in range(40)], [f"t{n}" for n in range(5) for _ in range(40)])
    apart = kappa_spread([pair for pair in few for _ in range(40)], [f"t{n}" for n in range(200)])

    assert many is not None
    assert apart is not None
    assert many.high - many.low > 3 * (apart.high - apart.low)


def test_few_tasks_are_said_and_few_runs_have_no_interval() -> None:
    """Fewer than five tasks: runs are drawn. Fewer than ten runs, or hardly ever a kappa: nothing is claimed."""
    spread = kappa_spread(table(10, 2, 3, 10), ["one"] * 25)

    assert spread is not None
    assert spread.unit == "run"
    assert kappa_spread(table(4, 0, 1, 4), ["one"] * 9) is None
    assert kappa_spread(table(30, 0, 0, 0), ["one"] * 30) is None


def test_retest_by_hand() -> None:
    """Three tries of four runs: two always the same; kappa is the mean over the three pairs of tries."""
    found = retest(
        [["PASS", "PASS", "PASS"], ["FAIL", "FAIL", "FAIL"], ["PASS", "FAIL", "PASS"], ["FAIL", "FAIL", "UNPARSEABLE"]]
    )

    assert (found.runs, found.tries, found.identical, found.share_identical) == (4, 3, 2, 0.5)
    assert found.pairwise_agreement == pytest.approx((3 / 4 + 3 / 4 + 2 / 4) / 3)
    first_second = (3 / 4 - 8 / 16) / (1 - 8 / 16)
    first_third = (3 / 4 - 6 / 16) / (1 - 6 / 16)
    second_third = (2 / 4 - 5 / 16) / (1 - 5 / 16)
    assert found.kappa == pytest.approx((first_second + first_third + second_third) / 3)


def test_retest_of_nothing_is_unknown() -> None:
    """No runs, no shares."""
    found = retest([])

    assert (found.runs, found.share_identical, found.pairwise_agreement, found.kappa) == (0, None, None, None)


@given(st.lists(st.lists(VERDICTS, min_size=3, max_size=3), min_size=1, max_size=20))
def test_identical_tries_never_exceed_pairwise_agreement(tries: list[list[str]]) -> None:
    """A run whose tries are all the same agrees in every pair of tries."""
    found = retest(tries)

    assert found.share_identical is not None
    assert found.pairwise_agreement is not None
    assert found.share_identical <= found.pairwise_agreement + 1e-12
