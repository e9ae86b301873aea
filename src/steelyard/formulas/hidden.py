"""The gap between what an agent could see and what it could not: how much of a pass is made for the tests at hand."""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.domain.run import Run

VISIBLE = frozenset({"command", "baseline_tests_pass"})
HIDDEN = "hidden_tests"


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


def visible_hidden_gap(runs: Iterable[Run]) -> tuple[VisibleHiddenGap, ...]:
    """The gap of each arm, by name; arms without a run that has both are left out, and so are failures of ours."""
    found: dict[str, list[tuple[bool, bool]]] = {}
    for run in runs:
        if run.is_infrastructure:
            continue
        graded = [one for one in run.scorers if one.verdict != "N/A" and not one.crashed]
        visible = [one.verdict == "PASS" for one in graded if one.type in VISIBLE and one.required]
        hidden = [one.verdict == "PASS" for one in graded if one.type == HIDDEN]
        if visible and hidden:
            found.setdefault(run.arm, []).append((all(visible), all(hidden)))
    return tuple(
        VisibleHiddenGap(
            arm,
            len(pairs),
            sum(seen for seen, _ in pairs) / len(pairs),
            sum(unseen for _, unseen in pairs) / len(pairs),
        )
        for arm, pairs in sorted(found.items())
    )
