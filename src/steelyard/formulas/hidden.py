"""The gap between what an agent could see and what it could not: how much of a pass is made for the tests at hand."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from steelyard.domain.comparison import HiddenGap
from steelyard.domain.run import Run

VISIBLE = frozenset({"command", "baseline_tests_pass"})
HIDDEN = "hidden_tests"


def passes_in_sight(run: Run) -> bool:
    """Whether every required test that the agent could see passes."""
    return all(one.verdict != "FAIL" for one in run.scorers if one.type in VISIBLE and one.required)


def sentence(gap: HiddenGap) -> str:
    """One line for people."""
    return (
        f"hidden tests: {gap.arm} passes {gap.visible:.0%} in sight and {gap.hidden:.0%} out of sight, "
        f"gap {100 * gap.gap:+.0f} points ({gap.runs} runs)"
    )


@dataclass
class GapTally:
    """Counts runs as they go by."""

    seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, run: Run, arm: str | None = None) -> None:
        """Count a run that has both kinds of tests; failures that are not the arm's do not count."""
        if run.is_infrastructure:
            return
        graded = [one for one in run.scorers if one.verdict != "N/A" and not one.crashed and not one.quarantined]
        visible = [one.verdict == "PASS" for one in graded if one.type in VISIBLE and one.required]
        hidden = [one.verdict == "PASS" for one in graded if one.type == HIDDEN]
        if visible and hidden:
            name = arm or run.arm
            runs, in_sight, out_of_sight = self.seen.get(name, (0, 0, 0))
            self.seen[name] = (runs + 1, in_sight + all(visible), out_of_sight + all(hidden))

    def gaps(self) -> tuple[HiddenGap, ...]:
        """The gap of each arm, by name."""
        return tuple(
            HiddenGap(arm=arm, runs=runs, visible=in_sight / runs, hidden=out_of_sight / runs)
            for arm, (runs, in_sight, out_of_sight) in sorted(self.seen.items())
        )


def visible_hidden_gap(runs: Iterable[Run]) -> tuple[HiddenGap, ...]:
    """The gap of each arm; arms without a run that has both kinds of tests are left out."""
    tally = GapTally()
    for run in runs:
        tally.add(run)
    return tally.gaps()
