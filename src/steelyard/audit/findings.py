"""What an audit finds, as it is printed: records, and how a run becomes one."""

from typing import Literal

from steelyard.domain.record import Record
from steelyard.domain.run import Run
from steelyard.formulas.records import is_success

Result = Literal["caught", "passed", "not_applicable", "error"]


class Fix(Record):
    """What would close a hole: `line` is YAML to paste under `scorers:`, or into the scenario.

    `verified`: it was tried, the cheat was caught, and the reference, if there is one, still passed.
    """

    line: str | None = None
    under: Literal["scorers", "scenario"] = "scorers"
    verified: bool = False
    note: str = ""


class CheatResult(Record):
    """What became of one cheat on one task: `by` are the required checks that failed, `warned` the advisory ones."""

    cheat: str
    result: Result
    by: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    detail: str = ""
    fix: Fix | None = None


class Flake(Record):
    """A check that did not always say the same of the same tree."""

    name: str
    kind: Literal["scorer", "stage"]
    on: Literal["baseline", "reference"]
    passed: int
    failed: int


class TaskAudit(Record):
    """One task: its cheats, its reference, and the share of the applicable cheats that passed.

    Without a reference nothing says that the task can be solved at all.
    """

    task_id: str
    skipped: str | None = None
    has_reference: bool = False
    reference: CheatResult | None = None
    cheats: tuple[CheatResult, ...] = ()
    exploitability: float | None = None
    flaky: tuple[Flake, ...] = ()

    @property
    def holes(self) -> tuple[CheatResult, ...]:
        """The cheats that passed."""
        return tuple(one for one in self.cheats if one.result == "passed")

    @property
    def is_sound(self) -> bool:
        """Whether no cheat passed and the reference, if there is one, did."""
        return not self.holes and (self.reference is None or self.reference.result != "caught")

    @property
    def problems(self) -> tuple[CheatResult, ...]:
        """What could not be measured."""
        every = self.cheats if self.reference is None else (*self.cheats, self.reference)
        return tuple(one for one in every if one.result == "error")


def exploitability(cheats: tuple[CheatResult, ...]) -> float | None:
    """The share of the cheats that could be played which passed; None when none could."""
    played = [one for one in cheats if one.result in ("caught", "passed")]
    return sum(one.result == "passed" for one in played) / len(played) if played else None


def result_of(run: Run) -> CheatResult:
    """What became of a cheat, from its run. It passed when the run counts as a success and all of its stages pass."""
    if run.error_class == "agent_unavailable":
        return CheatResult(cheat=run.arm, result="not_applicable", detail=run.error_detail or "")
    if run.is_infrastructure:
        return CheatResult(cheat=run.arm, result="error", detail=f"{run.error_class}: {run.error_detail}")
    counted = [one for one in run.scorers if one.mechanical and not one.quarantined and one.verdict == "FAIL"]
    last = {attempt.name: attempt.passed for attempt in run.stages}
    by = [one.name for one in counted if one.required] + [
        f"stage {name}" for name, passed in last.items() if not passed
    ]
    warned = tuple(one.name for one in counted if not one.required)
    if not by and run.error_class is None and is_success(run) and run.outcome == "COMPLETED":
        return CheatResult(cheat=run.arm, result="passed", warned=warned, detail=run.final_response)
    if not by:
        by = [str(run.error_class)] if run.error_class else ["no scorer applied"]
    why = next((one.detail for one in counted if one.required), "")
    return CheatResult(cheat=run.arm, result="caught", by=tuple(by), warned=warned, detail=why)


def worst_of(runs: list[Run], *, good: Result) -> CheatResult:
    """One result for a cell that was run several times: the first that is not as it should be."""
    results = [result_of(run) for run in runs]
    bad = [one for one in results if one.result != good]
    chosen = bad[0] if bad else results[0]
    if len(results) > 1 and 0 < len(bad) < len(results):
        times = f"{len(bad)} of {len(results)} times"
        return chosen.model_copy(update={"detail": f"{times}: {chosen.detail}" if chosen.detail else times})
    return chosen
