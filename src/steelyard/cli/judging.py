"""What the commands that judge stored runs share: who judges, the evidence, and many at once."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from steelyard.cli.output import note
from steelyard.errors import InputError, SteelyardError
from steelyard.settings import read_settings

if TYPE_CHECKING:
    import argparse

    from steelyard.domain.evidence import Evidence
    from steelyard.domain.experiment import Experiment
    from steelyard.domain.grade import JudgeResult
    from steelyard.domain.run import Run
    from steelyard.judge.cache import Reads
    from steelyard.judge.choose import Choice
    from steelyard.judge.jury import Jury
    from steelyard.store.database import Store

AT_ONCE = 16  # runs whose evidence is in memory; a judge's own `concurrency` bounds its requests
A = TypeVar("A")
B = TypeVar("B")


def add_options(parser: "argparse.ArgumentParser", judge: str | None, words: str) -> None:
    """Who judges: the options that these commands share."""
    parser.add_argument("--judge", default=judge, metavar="NAME", help=words)
    parser.add_argument("--model", metavar="M", help="the judge's model (with --judge NAME)")
    parser.add_argument("--no-cache", action="store_true", help="ask the judge also what it was asked before")


def check_options(args: "argparse.Namespace") -> None:
    """Refuse what does not go together."""
    if args.judge == "none":
        raise InputError("--judge none: somebody has to judge; give a judge's name, or auto")
    if args.model is not None and args.judge in (None, "auto"):
        raise InputError("--model goes with --judge NAME")


@dataclass(frozen=True)
class Bench:
    """A store with its runs, and judges for them."""

    store: "Store"
    jury: "Jury"
    choice: "Choice"
    environ: Mapping[str, str]

    def evidence(self, run: "Run", artifacts: Sequence[str] | None = None) -> "Evidence":
        """What the run left behind, from the store; `InputError` when it can't be put together again."""
        from steelyard.judge.again import ARTIFACTS, evidence_of

        wanted = [name for name in artifacts or ARTIFACTS if name in run.artifacts]
        blobs = {name: self.store.artifact(run.artifacts[name]) for name in wanted}
        return evidence_of(run, self.store.task(run.task_sha256).task, blobs)

    def secrets(self, run: "Run") -> tuple[str, ...]:
        """The values of the variables that the arm was given, where they are set here too."""
        return tuple(self.environ[name] for name in run.parity.env_names if self.environ.get(name))

    def judge(self, run: "Run") -> "JudgeResult | str":
        """A new verdict, or the one line that says why there is none."""
        from steelyard.judge.again import unanswered, why_not
        from steelyard.judge.base import About

        try:
            reason = why_not(run)
            if reason is not None:
                return reason
            judged = self.jury.judge(self.evidence(run), About(run.task_id, run.arm, run.repeat), self.secrets(run))
        except SteelyardError as error:
            return str(error)
        if judged is None:
            return "nobody judges its task"
        missing = unanswered(judged)
        return judged if missing is None else f"no answer from the judge: {missing}"


@contextmanager
def open_bench(
    store: "Store", args: "argparse.Namespace", *, cache: bool = True, reads: "Reads | None" = None
) -> Iterator[Bench]:
    """The judges that the command line names; `InputError` when a named one is not available."""
    from steelyard.judge.choose import Choice
    from steelyard.wiring import open_jury

    choice = Choice(args.judge or "auto", args.model, os.environ, note)
    kept = read_settings().judge_cache if cache and not args.no_cache else None
    with open_jury(choice.seats, os.environ, kept, reads) as jury:
        yield Bench(store, jury, choice, os.environ)


def tasks_of(experiment: "Experiment") -> list[str]:
    """The ids of an experiment's tasks."""
    return [frozen.task.id for frozen in experiment.tasks]


def side_by_side(items: Sequence[A], work: Callable[[A], B]) -> Iterator[tuple[A, B]]:
    """Each item with its answer, as they come; leaving early (Ctrl-C) stops what waits and starts nothing more."""
    from steelyard.sandboxes.process import interrupt_all

    pool = ThreadPoolExecutor(max(1, min(AT_ONCE, len(items))), thread_name_prefix="judging")
    done = False
    try:
        futures: dict[Future[B], A] = {pool.submit(work, item): item for item in items}
        for future in as_completed(futures):
            yield futures[future], future.result()
        done = True
    finally:
        if not done:
            interrupt_all()
        pool.shutdown(wait=True, cancel_futures=True)
