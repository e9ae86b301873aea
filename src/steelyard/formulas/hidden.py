"""The gap between what an agent could see and what it could not: how much of a pass is made for the tests at hand."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from steelyard.domain.run import Run

VISIBLE = frozenset({"command", "baseline_tests_pass"})
HIDDEN = "hidden_tests"


def passes_in_sight(run: Run) -> bool:
    """Whether every required test that the agent could see passes."""
    return all(one.verdict != "FAIL" for one in run.scorers if one.type in VISIBLE and one.required)


@dataclass(frozen=True)
class VisibleHiddenGap:
    """Of an arm's runs with both kinds of tests: how often the visible ones passed, and how often the hidden ones."""

    arm: str
    runs: int
    visible: float
    hidden: float

    @property
    def gap(self) -> float:
        """Visible minus hidden pass rate: 0 when whatever passes in sight passes out of sight."""
        return self.visible - self.hidden

    def sentence(self) -> str:
        """One line for people."""
        return (
            f"hidden tests: {self.arm} passes {self.visible:.0%} in sight and {self.hidden:.0%} out of sight, "
            f"gap {100 * self.gap:+.0f} points ({self.runs} runs)"
        )


@dataclass
class GapTally:
    """Counts runs as they go by."""

    seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, run: Run) -> None:
        """Count a run that has both kinds of tests; failures that are not the arm's do not count."""
        if run.is_infrastructure:
            return
        graded = [one for one in run.scorers if one.verdict != "N/A" and not one.crashed and not one.quarantined]
        visible = [one.verdict == "PASS" for one in graded if one.type in VISIBLE and one.required]
        hidden = [one.verdict == "PASS" for one in graded if one.type == HIDDEN]
        if visible and hidden:
            runs, in_sight, out_of_sight = self.seen.get(run.arm, (0, 0, 0))
            self.seen[run.arm] = (runs + 1, in_sight + all(visible), out_of_sight + all(hidden))

    def gaps(self) -> tuple[VisibleHiddenGap, ...]:
        """The gap of each arm, by name."""
        return tuple(
            VisibleHiddenGap(arm, runs, in_sight / runs, out_of_sight / runs)
            for arm, (runs, in_sight, out_of_sight) in sorted(self.seen.items())
        )


def visible_hidden_gap(runs: Iterable[Run]) -> tuple[VisibleHiddenGap, ...]:
    """The gap of each arm; arms without a run that has both kinds of tests are left out."""
    tally = GapTally()
    for run in runs:
        tally.add(run)
    return tally.gaps()
