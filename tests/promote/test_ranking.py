"""Who wins a competition."""

from typing import Any

import pytest

from steelyard.domain.usage import Usage
from steelyard.promote.ranking import Entrant, ranked, winner
from tests.store.support import run_of, scorer


def entrant(number: int, score: int | None = 80, composite: float | None = 0.8, **changes: Any) -> Entrant:
    """A run that passed, with a diff."""
    cost = changes.pop("cost", 1.0)
    fields: dict[str, Any] = {
        "scorers": (scorer("PASS"),),
        "artifacts": {"diff": "x"},
        "usage": Usage(cost_usd=cost),
        "started_at": f"2026-01-01T00:00:{number:02d}Z",
    }
    return Entrant(run_of(number, **{**fields, **changes}), score, "Gold", composite)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (entrant(2, score=81, composite=0.1, cost=9.0), entrant(1, score=80)),
        (entrant(2, composite=0.9, cost=9.0), entrant(1)),
        (entrant(2, cost=0.5), entrant(1, cost=0.6)),
        (entrant(2, cost=5.0), entrant(1, cost=None)),
        (entrant(1), entrant(2)),
        (entrant(2, score=10), entrant(1, score=99, scorers=(scorer("FAIL"),))),
        (entrant(2, score=10), entrant(1, score=99, scorers=())),
        (entrant(2, score=10), entrant(1, score=99, status="failed", error_class="agent_timeout")),
        (entrant(2, score=10), entrant(1, score=99, artifacts={})),
        (entrant(2, score=0), entrant(1, score=None)),
    ],
)
def test_the_order_of_places(first: Entrant, second: Entrant) -> None:
    """Gates first, then score, composite, cost (unknown last), and the earliest; the order given plays no part."""
    assert [one.run for one in ranked([second, first])] == [first.run, second.run]
    assert [one.run for one in ranked([first, second])] == [first.run, second.run]


def test_nobody_wins_when_all_are_out() -> None:
    """Each says why."""
    ranking = ranked([entrant(1, scorers=(scorer("FAIL"),)), entrant(2, artifacts={})])

    assert winner(ranking) is None
    assert all(one.out for one in ranking)
