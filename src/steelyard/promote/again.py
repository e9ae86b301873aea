"""Past decisions looked at again: stored runs graded anew, and what that does to the verdict they led to."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from steelyard.domain.experiment import Experiment
from steelyard.domain.grade import ScorerResult
from steelyard.domain.record import JsonObject
from steelyard.domain.run import Cell, Run
from steelyard.engine.lab import Job, Lab
from steelyard.engine.regrade import Stored, outcome_of, regrade, why_not
from steelyard.errors import InputError, RunError, SteelyardError
from steelyard.formulas.gates import overall
from steelyard.formulas.scorecard import facts_of, score_run

if TYPE_CHECKING:
    from steelyard.domain.comparison import Comparison
    from steelyard.store.database import Store

ARTIFACTS = ("diff", "trajectory", "stderr")


@dataclass(frozen=True)
class Wish:
    """What to do again; `now` is the instant that is written to new rows.

    `scorers` stand in place of each task's own; without `grade` only scorecards are computed; without `keep` nothing
    is stored.
    """

    now: Callable[[], str]
    scorers: tuple[JsonObject, ...] | None = None
    grade: bool = True
    keep: bool = True
    jobs: int = 1


@dataclass(frozen=True)
class Shift:
    """One scorer of one run that says something else now; None on a side where it was not asked."""

    run: Run
    scorer: str
    before: str | None
    after: str | None
    detail: str = ""


@dataclass
class Regraded:
    """An experiment that was looked at again."""

    experiment: Experiment
    graded: int = 0
    skipped: list[tuple[Run, str]] = field(default_factory=list)
    shifts: list[Shift] = field(default_factory=list)
    before: "Comparison | None" = None
    after: "Comparison | None" = None


Look = Callable[[Run], tuple[ScorerResult, ...]]


def look_again(
    store: "Store", experiment: Experiment, runs: Sequence[Run], lab: Lab | None, wish: Wish
) -> Iterator[tuple[Run, Run | str]]:
    """Each of the runs with what it is now, or with why that can't be known; stored as they come, newest rows win."""
    wanted = [run for run in runs if _reason(run, wish) is None]
    yield from ((run, why) for run in runs if (why := _reason(run, wish)) is not None)
    if not wish.grade or lab is None:
        for run in wanted:
            _score(store, outcome_of(run, run.scorers), wish)
            yield run, run
        return
    here = lab
    for run, answer in _in_threads(wanted, lambda run: _graded(store, experiment, run, here, wish), wish.jobs):
        if isinstance(answer, str):
            yield run, answer
            continue
        now = outcome_of(run, answer)
        if wish.keep:
            store.add_grading(run.run_id, answer, graded_at=wish.now())
        _score(store, now, wish)
        yield run, now


def _reason(run: Run, wish: Wish) -> str | None:
    if wish.grade:
        return why_not(run)
    if run.is_infrastructure or run.imported is not None:
        return "an infrastructure failure is not scored" if run.imported is None else "it was imported, without axes"
    return None


def _graded(store: "Store", experiment: Experiment, run: Run, lab: Lab, wish: Wish) -> tuple[ScorerResult, ...] | str:
    """What the scorers say, or the one line that says why they can't."""
    arm = next((arm for arm in experiment.arms if arm.name == run.arm), None)
    if arm is None:
        return f"the experiment has no arm {run.arm}"
    try:
        frozen = store.task(run.task_sha256)
        if wish.scorers is not None:
            task = frozen.task.model_copy(update={"scorers": wish.scorers})
            frozen = frozen.model_copy(update={"task": task})
        blobs = {name: store.artifact(run.artifacts[name]) for name in ARTIFACTS if name in run.artifacts}
        cell = Cell(task_id=run.task_id, arm=run.arm, repeat=run.repeat)
        job = Job(experiment.id, experiment.workspace, cell, frozen, arm)
        results = regrade(Stored(run, blobs), job, lab)
    except RunError as error:
        return f"{error.error_class}: {error}"
    except SteelyardError as error:
        return str(error)
    broken = [result.name for result in results if result.crashed]
    return f"a scorer broke: {', '.join(broken)}" if broken else results


def _score(store: "Store", run: Run, wish: Wish) -> None:
    """A new score row, with the wall times that came before this run and the weights of today."""
    if not wish.keep:
        return
    history = store.history(run.workspace, store.run(run.run_id).seq)
    card = score_run(facts_of(run, history, store.weights(run.workspace)))
    store.add_score(card, scored_at=wish.now())


def _in_threads(
    runs: Sequence[Run], look: "Callable[[Run], tuple[ScorerResult, ...] | str]", jobs: int
) -> "Iterator[tuple[Run, tuple[ScorerResult, ...] | str]]":
    """Every run's answer as it comes; leaving early (Ctrl-C) stops what runs and starts nothing more."""
    from steelyard.sandboxes.process import interrupt_all

    pool = ThreadPoolExecutor(max(1, min(jobs, len(runs) or 1)), thread_name_prefix="again")
    futures: dict[Future[tuple[ScorerResult, ...] | str], Run] = {}
    done = False
    try:
        futures = {pool.submit(look, run): run for run in runs}
        for future in as_completed(futures):
            yield futures[future], future.result()
        done = True
    finally:
        if not done:
            interrupt_all()
        pool.shutdown(wait=True, cancel_futures=True)


def shifts_of(before: Run, after: Run) -> list[Shift]:
    """Which scorers say something else now."""
    then = {result.name: result for result in before.scorers}
    now = {result.name: result for result in after.scorers}
    found = []
    for name in [*then, *(name for name in now if name not in then)]:
        old, new = then.get(name), now.get(name)
        verdicts = (old.verdict if old else None, new.verdict if new else None)
        if verdicts[0] != verdicts[1]:
            found.append(Shift(before, name, *verdicts, detail=new.detail if new else ""))
    old_overall, new_overall = overall(before.scorers), overall(after.scorers)
    if old_overall != new_overall:
        found.append(Shift(before, "OVERALL", old_overall, new_overall))
    return found


def weighed(runs: Iterable[Run], experiment: Experiment) -> "Comparison | None":
    """The arms of an experiment against each other; None when there are no two to compare."""
    from steelyard.compare.runs import material_of
    from steelyard.compare.weigh import weigh

    material = material_of(runs, experiment.arms)
    if len(material.facts) < 2:
        return None
    chosen = {side: getattr(experiment.compare, side) for side in ("baseline", "candidate")}
    known = {side: arm if arm in material.facts else None for side, arm in chosen.items()}
    try:
        return weigh(material.table(), spec=experiment.compare.model_copy(update=known))
    except InputError:
        return None  # several arms, and nobody said which two


def conclude(found: Regraded, pairs: Sequence[tuple[Run, Run]], rest: Sequence[Run]) -> Regraded:
    """What changed, and what the experiment says with its runs as they are now."""
    ordered = sorted(pairs, key=lambda pair: (pair[0].task_id, pair[0].arm, pair[0].repeat, pair[0].run_id))
    shifts = [shift for before, after in ordered for shift in shifts_of(before, after)]
    before = weighed([*(one for one, _ in pairs), *rest], found.experiment)
    after = weighed([*(one for _, one in pairs), *rest], found.experiment)
    return replace(found, graded=len(pairs), shifts=shifts, before=before, after=after)
