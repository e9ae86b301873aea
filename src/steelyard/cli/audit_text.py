"""How an audit is shown: progress while it goes on, then a table, the holes, and the lines that close them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import note, say
from steelyard.cli.progress import Watch
from steelyard.cli.table import print_table
from steelyard.domain.run import Run

if TYPE_CHECKING:
    from steelyard.audit.findings import CheatResult, TaskAudit

WORDS = {"caught": "caught", "passed": "PASSED", "not_applicable": "-", "error": "ERROR"}


class Played(Watch):
    """Counts cheats that were played; how many there will be is only known step by step."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(1, quiet=quiet)
        self.total = 0
        self._told: set[tuple[str, str]] = set()

    def expect(self, more: int) -> None:
        """So many more runs."""
        self.total += more
        if self._bar is not None:
            self._bar.update(self._row, total=self.total)

    def __enter__(self) -> "Played":
        """Show the bar where there is a terminal."""
        self.total = self.total or 1
        super().__enter__()
        self.total = 0
        return self

    def finished(self, run: Run) -> None:
        """A cheat was played."""
        from steelyard.audit.findings import result_of

        with self._lock:
            self.done += 1
            self.failed += run.arm != "reference" and result_of(run).result == "passed"
            if self._bar is not None:
                self._bar.update(self._row, completed=self.done, extra=f"{self.failed} passed")
            elif not self.quiet:
                self._line(run)

    def _line(self, run: Run) -> None:
        from steelyard.audit.findings import result_of

        result = result_of(run)
        by = f" by {', '.join(result.by)}" if result.by else f": {result.detail}" if result.result != "passed" else ""
        if result.result == "error" and (run.task_id, by) in self._told:
            by = ", the same"
        self._told.add((run.task_id, by))
        word = "not applicable" if result.result == "not_applicable" else result.result
        note(f"[{self.done}/{self.total}] {run.task_id} {run.arm}: {word}{by}")


def document(
    found: "Sequence[TaskAudit]", suite: str, sandbox: str, written: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The audit as one JSON document."""
    return {
        "suite": suite,
        "sandbox": sandbox,
        "sound": all(one.is_sound for one in found),
        "tasks": [one.model_dump(mode="json") for one in found],
        "holes": [{"task_id": one.task_id, **hole.model_dump(mode="json")} for one in found for hole in one.holes],
        "quarantined": {task_id: list(names) for task_id, names in written.items()},
    }


def show(found: "Sequence[TaskAudit]", written: Mapping[str, Sequence[str]]) -> None:
    """The table task × cheat, then what to do."""
    rows = [_row(one.task_id, cheat) for one in found for cheat in _every(one)]
    if rows:
        print_table(("task", "cheat", "result", "caught by, or why not"), rows)
    for one in found:
        _summary(one)
    for one in found:
        _closing(one)
    for one in found:
        for flake in one.flaky:
            say(
                f"flaky: {one.task_id}: {flake.kind} '{flake.name}' passed {flake.passed} and failed {flake.failed} "
                f"times on the same {flake.on}"
            )
    for task_id, names in written.items():
        say(f"quarantine written: {task_id}: {', '.join(names)}")
    note("nothing was stored, and nothing was spent")


def _every(one: "TaskAudit") -> "list[CheatResult]":
    return [*([one.reference] if one.reference else []), *one.cheats]


def _row(task_id: str, result: "CheatResult") -> tuple[str, str, str, str]:
    if result.cheat == "reference":
        word = {"passed": "passes", "caught": "FAILS"}.get(result.result, WORDS[result.result])
    else:
        word = WORDS[result.result]
    # What could not be measured is told below the table, once for all that share it.
    why = ", ".join(result.by) if result.by else "" if result.result in ("passed", "error") else result.detail
    if result.result == "passed" and result.warned:
        why = f"only a warning: {', '.join(result.warned)}"
    return task_id, result.cheat, word, why


def _summary(one: "TaskAudit") -> None:
    if one.skipped is not None:
        say(f"{one.task_id}: not audited: {one.skipped}")
        return
    played = [cheat for cheat in one.cheats if cheat.result in ("caught", "passed")]
    share = "-" if one.exploitability is None else f"{one.exploitability:.0%}"
    say(f"{one.task_id}: exploitability {share} ({len(one.holes)} of {len(played)} cheats passed)")
    if one.reference is not None and one.reference.result == "caught":
        say(f"{one.task_id}: the reference solution fails: {', '.join(one.reference.by)}: {one.reference.detail}")
    if not one.has_reference:
        say(f"{one.task_id}: no reference: whether it can be solved is not known")
    for detail in dict.fromkeys(problem.detail for problem in one.problems):
        cheats = ", ".join(problem.cheat for problem in one.problems if problem.detail == detail)
        say(f"{one.task_id}: {cheats} could not be measured: {detail}")


def _closing(one: "TaskAudit") -> None:
    """Each line once, with the holes that it closes; then the holes that no line closes."""
    fixes = {hole.cheat: hole.fix for hole in one.holes if hole.fix is not None}
    lines = {fix.line: fix for fix in fixes.values() if fix.line is not None}
    for line, fix in lines.items():
        cheats = ", ".join(cheat for cheat, other in fixes.items() if other.line == line)
        where = "under scorers:" if fix.under == "scorers" else "to the scenario or task"
        where += f" {fix.note}" if fix.verified and fix.note else ""
        tried = "tried: it closes this" if fix.verified else f"not tried: {fix.note}"
        say(f"\n{one.task_id}: {cheats} passed; add {where} ({tried})\n    {line}")
    for cheat, fix in fixes.items():
        if fix.line is None:
            say(f"\n{one.task_id}: {cheat} passed: {fix.note}")
