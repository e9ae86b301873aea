"""Which checks do not always say the same of the same tree."""

from collections.abc import Sequence
from typing import Literal

from steelyard.audit.findings import Flake
from steelyard.domain.run import Run


def flakes(runs: Sequence[Run], on: Literal["baseline", "reference"]) -> tuple[Flake, ...]:
    """The scorers and stages of these runs, all of the same tree, that passed some times and failed others.

    Runs that could not be measured are left out; so are scorers in quarantine.
    """
    said: dict[tuple[Literal["scorer", "stage"], str], list[bool]] = {}
    for run in runs:
        if run.is_infrastructure:
            continue
        for scorer in run.scorers:
            if scorer.mechanical and not scorer.quarantined and not scorer.crashed:
                said.setdefault(("scorer", scorer.name), []).append(scorer.verdict != "FAIL")
        for name, passed in {attempt.name: attempt.passed for attempt in run.stages}.items():
            said.setdefault(("stage", name), []).append(passed)
    return tuple(
        Flake(name=name, kind=kind, on=on, passed=sum(each), failed=len(each) - sum(each))
        for (kind, name), each in said.items()
        if 0 < sum(each) < len(each)
    )
