"""The decision rule (seed 004): three gates, and a preference only when all of them agree."""

from steelyard.domain.comparison import ArmMetrics, Decision, DecisionGates, GateNumbers

MIXED = "mixed results - inspect paired deltas"
INSUFFICIENT = "insufficient data"


def decide(candidate: tuple[str, ArmMetrics], baseline: tuple[str, ArmMetrics], pairs: int, *, few: bool) -> Decision:
    """Prefer the candidate when all three gates hold, the baseline when all three flip strictly; else mixed."""
    ours, theirs = candidate[1], baseline[1]
    numbers = {
        "success_rate": (ours.success_rate, theirs.success_rate),
        "runtime": (ours.median_duration_seconds, theirs.median_duration_seconds),
        "tokens": (ours.median_non_cache_tokens, theirs.median_non_cache_tokens),
    }
    # More success is better, less time and fewer tokens are: turned so that a positive lead favours the candidate.
    leads = [None if a is None or b is None else a - b for a, b in numbers.values()]
    leads = [leads[0], *(None if lead is None else -lead for lead in leads[1:])]
    holds = [None if lead is None else lead >= 0 for lead in leads]
    if pairs < 1:
        choice = INSUFFICIENT
    elif all(holds):
        choice = f"prefer {candidate[0]}"
    elif all(lead is not None and lead < 0 for lead in leads):
        choice = f"prefer {baseline[0]}"
    else:
        choice = MIXED
    return Decision(
        choice=choice,
        gates=DecisionGates(success_rate=holds[0], runtime=holds[1], tokens=holds[2]),
        provisional=few,
        numbers={name: GateNumbers(candidate=a, baseline=b) for name, (a, b) in numbers.items()},
    )
