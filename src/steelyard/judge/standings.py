"""What matches between two arms add up to: wins, ties and losses, an interval by task, and the bias of position."""

from collections import Counter
from collections.abc import Sequence

from steelyard.domain.record import JsonObject
from steelyard.judge.pairwise import Match, Preference

SCORES = {"win": 1.0, "tie": 0.0, "loss": -1.0}


def standings(matches: Sequence[Match]) -> JsonObject:
    """The result as a document; only pairs whose two orders agree count."""
    counts = Counter(match.result for match in matches)
    wins, losses = counts["win"], counts["loss"]
    mean, interval, p = _net([match for match in matches if match.result in SCORES])
    asked = [one for match in matches if not match.identical for one in (match.first, match.second)]
    return {
        "pairs": len(matches),
        "wins": wins,
        "ties": counts["tie"],
        "losses": losses,
        "by_position": counts["by position"],
        "unanswered": counts["unanswered"],
        "identical": sum(match.identical for match in matches),
        "tasks": len({match.task_id for match in matches}),
        "win_rate": wins / (wins + losses) if wins + losses else None,
        "net_preference": {"mean": mean, "ci95": interval, "p": p},
        "position": _position(matches),
        "cost_usd": _cost(asked),
        "requests": len(asked),
        "cached": sum(one.cached for one in asked),
    }


def _net(counted: Sequence[Match]) -> tuple[float | None, list[float] | None, float | None]:
    """Wins minus losses over the pairs that count, with an interval and a p-value that take a task as one."""
    if not counted:
        return None, None, None
    import numpy as np

    from steelyard.compare.bootstrap import intervals, seed_of, task_sums
    from steelyard.compare.deltas import starts_of
    from steelyard.compare.significance import sign_flip

    ordered = sorted(counted, key=lambda match: (match.task_id, match.repeat))
    names = sorted({match.task_id for match in ordered})
    codes = np.array([names.index(match.task_id) for match in ordered], dtype=np.int64)
    values = np.array([[SCORES[match.result]] for match in ordered], order="F")
    starts = starts_of(codes)
    found = intervals(values, starts)[0]
    sums = task_sums(values, starts)
    p = sign_flip(sums, seed_of(sums, starts))[0]
    return float(values.mean()), None if found is None else [found.low, found.high], p


def _position(matches: Sequence[Match]) -> JsonObject:
    """How often X was preferred; the p-value asks whether pairs lean to one side more than a coin would.

    A pair whose two orders agree gives one X and one Y whatever the bias, so only pairs that lean are tossed.
    """
    from steelyard.compare.significance import mcnemar

    answered = [match for match in matches if not match.identical and match.result != "unanswered"]
    said = Counter(one.better for match in answered for one in (match.first, match.second))
    first, second = sum(match.lean > 0 for match in answered), sum(match.lean < 0 for match in answered)
    decided = said["X"] + said["Y"]
    return {
        "answers": decided,
        "x_preferred": said["X"],
        "x_share": said["X"] / decided if decided else None,
        "pairs_leaning_to_first": first,
        "pairs_leaning_to_second": second,
        "p": mcnemar(first, second),
    }


def _cost(asked: Sequence[Preference]) -> float | None:
    """What was paid; None when somebody did not say."""
    costs = [one.cost_usd for one in asked]
    return None if None in costs else sum(cost for cost in costs if cost is not None)
