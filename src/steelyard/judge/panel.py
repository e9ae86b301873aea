"""Several judges as one: the majority's verdict, the mean of their ratings, and every member's own words kept."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import Any, get_args

from steelyard.domain.grade import FactCheck, FailureMode, JudgeResult
from steelyard.domain.usage import Usage
from steelyard.judge.request import RATINGS

PANEL = "panel"
_MODES: tuple[str, ...] = get_args(FailureMode)
MOST_CHECKS = 100


def votes(members: Sequence[JudgeResult]) -> str:
    """How the members voted, in words."""
    cast = Counter(member.verdict for member in members)
    counts = ", ".join(f"{cast[verdict]} {verdict}" for verdict in ("PASS", "FAIL", "UNPARSEABLE") if cast[verdict])
    return f"a panel of {len(members)}: {counts}{'; they disagree' if len(cast) > 1 else ''}"


def combine(members: Sequence[JudgeResult], duration_s: float, scored_at: str) -> JudgeResult:
    """The panel's result. A tie fails; members whose reply can't be read have no vote; none that can: UNPARSEABLE."""
    readable = [member for member in members if member.verdict != "UNPARSEABLE"]
    passes = sum(member.verdict == "PASS" for member in readable)
    verdict = "UNPARSEABLE" if not readable else "PASS" if 2 * passes > len(readable) else "FAIL"
    usage = _usage(members)
    return JudgeResult(
        verdict=verdict,  # type: ignore[arg-type]  # one of the three
        **{name: _mean([getattr(member, name) for member in readable]) for name in RATINGS},
        failure_mode=_mode(readable) if verdict == "FAIL" else None,
        fact_checks=_checks(readable),
        reasoning="\n".join([votes(members), *(_voice(member) for member in members)]),
        raw=None if readable else "\n\n".join(member.raw or "" for member in members),
        backend=PANEL,
        model=", ".join(member.model for member in members),
        prompt_version=members[0].prompt_version,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cost_usd=usage.cost_usd,
        duration_s=duration_s,
        scored_at=scored_at,
        members=tuple(members),
        cached=all(member.cached for member in members),
    )


def _mean(ratings: Sequence[int]) -> int | None:
    """The mean, rounded half up; the exact one is in the members."""
    return floor(Fraction(sum(ratings), len(ratings)) + Fraction(1, 2)) if ratings else None


def _mode(readable: Sequence[JudgeResult]) -> Any:
    """What most of those who failed it say; of equals the one that stands first in the list of modes."""
    named = Counter(member.failure_mode for member in readable if member.failure_mode is not None)
    return max(named, key=lambda mode: (named[mode], -_MODES.index(mode))) if named else "other"


def _checks(readable: Sequence[JudgeResult]) -> tuple[FactCheck, ...]:
    unique = dict.fromkeys((c.claim, c.evidence, c.status) for member in readable for c in member.fact_checks)
    return tuple(FactCheck(claim=a, evidence=b, status=s) for a, b, s in list(unique)[:MOST_CHECKS])


def _voice(member: JudgeResult) -> str:
    return f"{member.backend} {member.model}: {member.verdict}: {member.reasoning}"


def _usage(members: Sequence[JudgeResult]) -> Usage:
    """What all members used together; unknown when a member's part is."""
    each = [
        Usage(
            input_tokens=member.input_tokens,
            output_tokens=member.output_tokens,
            cache_read_tokens=member.cache_read_tokens,
            cache_write_tokens=member.cache_write_tokens,
            cost_usd=member.cost_usd,
        )
        for member in members
    ]
    total = each[0]
    for usage in each[1:]:
        total = total.plus(usage)
    return total
