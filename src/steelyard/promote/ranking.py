"""Competition: of all runs on one task, the one with the highest scorecard among those that passed their gates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.domain.run import Run
from steelyard.formulas.gates import gates_of


@dataclass(frozen=True)
class Entrant:
    """A run with the numbers it is ranked by; `out` says why it can't win."""

    run: Run
    score: int | None
    tier: str
    composite: float | None
    out: str | None = None


def ranked(entrants: Iterable[Entrant]) -> list[Entrant]:
    """Best first: scorecard, then composite, then cost (unknown last), then the earliest; those that are out, last."""
    return sorted(map(_judged, entrants), key=_order)


def winner(ranking: Sequence[Entrant]) -> Entrant | None:
    """The first that may win."""
    return next((one for one in ranking if one.out is None), None)


def _judged(one: Entrant) -> Entrant:
    gates = gates_of(one.run)
    reasons = []
    if gates.objective != "PASS":
        reasons.append(f"objective {gates.objective}")
    if gates.run != "PASS":
        reasons.append(f"run {gates.run}" + (f" ({one.run.error_class})" if one.run.error_class else ""))
    if one.score is None:
        reasons.append("no scorecard")
    if "diff" not in one.run.artifacts:
        reasons.append("no diff: nothing was changed" if one.run.imported is None else "imported: no diff")
    return Entrant(one.run, one.score, one.tier, one.composite, ", ".join(reasons) or None)


def _order(one: Entrant) -> tuple[object, ...]:
    cost = one.run.usage.cost_usd
    return (
        one.out is not None,
        -(one.score if one.score is not None else -1),
        -(one.composite if one.composite is not None else -1.0),
        cost is None,
        cost or 0.0,
        one.run.started_at,
        one.run.run_id,
    )
