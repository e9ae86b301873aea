"""What speaks against the candidate, task by task, and the runs to look at."""

from collections.abc import Callable
from dataclasses import dataclass

from steelyard.domain.comparison import Comparison, Regression
from steelyard.reports import tables, words
from steelyard.reports.sentences import regression_details

Link = Callable[[str], str]
MOST_RUN_IDS = 3


@dataclass(frozen=True)
class RunLink:
    """A run to look at, with its page where there is one, and its place among the named runs."""

    run_id: str
    href: str | None
    place: int | None = None


@dataclass(frozen=True)
class NamedRun:
    """A run of a task that regressed: what came of it, cell by cell."""

    link: RunLink
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Against:
    """What speaks against the candidate on one task, with runs to look at."""

    task: str
    details: tuple[str, ...]
    hard: bool
    baseline_runs: tuple[RunLink, ...]
    candidate_runs: tuple[RunLink, ...]


def against_of(comparison: Comparison, link: Link | None = None) -> tuple[Against, ...]:
    """The regressions task by task, hard ones first, the largest drop of the composite first among them."""
    found: dict[str, list[Regression]] = {}
    for one in comparison.regressions:
        found.setdefault(one.task_id, []).append(one)
    rows = {row.task_id: row for row in comparison.tasks}
    places = {run.run_id: place for place, run in enumerate(comparison.named_runs, 1)}

    def linked(run_ids: tuple[str, ...]) -> tuple[RunLink, ...]:
        return tuple(_run_link(i, link, places) for i in run_ids[:MOST_RUN_IDS])

    entries = []
    for task, reasons in found.items():
        row = rows.get(task)
        hard = any(one.hard for one in reasons)
        entry = Against(
            task=words.name(task),
            details=regression_details(reasons),
            hard=hard,
            baseline_runs=linked(row.baseline_run_ids if row else ()),
            candidate_runs=linked(row.candidate_run_ids if row else ()),
        )
        delta = row.delta if row is not None and row.delta is not None else float("-inf")
        entries.append((not hard, delta, task, entry))
    return tuple(entry for *_, entry in sorted(entries, key=lambda e: e[:3]))


def named_of(comparison: Comparison, link: Link | None = None) -> tuple[NamedRun, ...]:
    """The runs that regressions name, with what came of each."""
    places = {run.run_id: place for place, run in enumerate(comparison.named_runs, 1)}
    return tuple(NamedRun(_run_link(run.run_id, link, places), tables.named_run(run)) for run in comparison.named_runs)


def _run_link(run_id: str, link: Link | None, places: dict[str, int]) -> RunLink:
    return RunLink(words.name(run_id), link(run_id) if link else None, places.get(run_id))
