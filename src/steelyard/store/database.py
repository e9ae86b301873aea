"""The store: everything that is kept of experiments and runs, behind one object that threads may share."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from steelyard.domain.experiment import Experiment, Finished
from steelyard.domain.grade import JudgeResult, ScorerResult
from steelyard.domain.record import JsonObject
from steelyard.domain.run import Cell, Run
from steelyard.domain.score import Scorecard, Weights
from steelyard.domain.suite import FrozenTask
from steelyard.store import leases, outbox, reads, saving, sinks, watching, workspaces, writes
from steelyard.store.connection import Database, open_database
from steelyard.store.errors import storing
from steelyard.store.outbox import StoredEvent
from steelyard.store.reads import EVERY_RUN, RunFilter, Spent
from steelyard.store.rows import StoredRun
from steelyard.store.statements import TASK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steelyard.store.imports import Imported, Incoming
    from steelyard.store.prune import Pruned


def open_store(url: str, artifacts: Path, *, must_exist: bool = False) -> "Store":
    """The store behind a URL, `sqlite:///PATH` or `postgresql://…`, made when it is new; close it, or use `with`."""
    return Store(open_database(url, artifacts, must_exist=must_exist))


class Store:
    """What the rest of Steelyard asks of the store; each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._tags: dict[str, tuple[str, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give all connections back."""
        self.database.close()

    def create_experiment(self, experiment: Experiment) -> None:
        """Store what was planned; the same experiment again changes nothing."""
        writes.create_experiment(self.database, experiment)

    def experiment(self, name: str) -> Experiment:
        """An experiment by its id, by a unique start of it, or the `latest`."""
        return reads.read_experiment(self.database, name)

    def last_experiment(self, suite_path: str) -> Experiment | None:
        """The newest experiment that was made of a suite file."""
        return reads.last_experiment(self.database, suite_path)

    def experiments(
        self, *, workspace: str | None = None, after: int | None = None, limit: int = 50
    ) -> list[JsonObject]:
        """A page of experiment summaries, newest first."""
        return reads.read_experiments(self.database, workspace=workspace, after=after, limit=limit)

    def task(self, sha256: str) -> FrozenTask:
        """A frozen task by its sha256."""
        return reads.read_task(self.database, sha256)

    def save(self, finished: Finished, *, scored_at: str) -> Scorecard | None:
        """Store a finished run whole, and score it; None for an infrastructure failure, which is Unranked."""
        score = self.store_run(finished, scored_at=scored_at).score
        return None if score is None else score.card

    def store_run(self, finished: Finished, *, scored_at: str) -> saving.Saved:
        """The same; also whether the run is new, and the score as it is stored."""
        return self.store_runs([finished], scored_at=scored_at)[0]

    def store_runs(self, finished: Sequence[Finished], *, scored_at: str) -> list[saving.Saved]:
        """Several one after the other, in one transaction: all of them or none."""
        tagged = [saving.Tagged(one, self._tags_of(one.run.task_sha256)) for one in finished]
        return saving.save_all(self.database, tagged, scored_at=scored_at)

    def run(self, name: str, *, workspace: str | None = None) -> StoredRun:
        """A run by its id, by a unique start of it, or the `latest`."""
        return reads.read_run(self.database, name, workspace=workspace)

    def runs(self, wanted: RunFilter = EVERY_RUN, *, after: int | None = None, limit: int = 50) -> list[JsonObject]:
        """A page of run summaries, newest first; `after` is the `seq` of the last one seen."""
        return reads.read_runs(self.database, wanted, after=after, limit=limit)

    def iter_runs(self, experiment: str, *, replaced: bool = False) -> Iterator[Run]:
        """The runs of an experiment, oldest first, one a cell unless `replaced` tries are wanted too."""
        return reads.iter_runs(self.database, experiment, replaced=replaced)

    def finished_cells(self, experiment: str) -> set[Cell]:
        """The cells that need not run again; an infrastructure failure counts as missing."""
        return reads.finished_cells(self.database, experiment)

    def spent(self, experiment: str) -> Spent:
        """What all tries of an experiment have used."""
        return reads.spent(self.database, experiment)

    def artifact(self, sha256: str) -> bytes:
        """An artifact's bytes, checked against its sha256."""
        with storing(f"reading artifact {sha256[:80]}"):
            return self.database.artifacts.get(sha256)

    def history(self, workspace: str, before: int | None = None) -> list[float]:
        """The wall times that latency is measured against, oldest first; `before` is a run's `seq`."""
        with self.database.read() as connection:
            return workspaces.baseline_history(connection, workspace, before)

    def weights(self, workspace: str) -> Weights:
        """The weights a workspace scores with."""
        with self.database.read() as connection:
            return workspaces.read_weights(connection, workspace)

    def set_weights(self, workspace: str, values: Weights | JsonObject) -> Weights:
        """Score with these weights from now on, if they are each at least 0 and together 1."""
        return workspaces.set_weights(self.database, workspace, values)

    def workspaces(self) -> list[str]:
        """Every workspace that has anything stored."""
        with self.database.read() as connection:
            return workspaces.workspace_names(connection)

    def has_workspace(self, workspace: str) -> bool:
        """Whether a workspace has anything stored."""
        with self.database.read() as connection:
            return workspaces.has_workspace(connection, workspace)

    def add_score(self, card: Scorecard, *, scored_at: str) -> int:
        """Add a score row; the version it got."""
        return writes.add_score(self.database, card, scored_at=scored_at)

    def add_judgement(self, run_id: str, judged: JudgeResult, *, secrets: tuple[str, ...] = ()) -> None:
        """Add a verdict; every one is kept."""
        writes.add_judgement(self.database, run_id, judged, secrets=secrets)

    def add_grading(self, run_id: str, scorers: tuple[ScorerResult, ...], *, graded_at: str) -> None:
        """Add what the scorers say now."""
        writes.add_grading(self.database, run_id, scorers, graded_at=graded_at)

    def import_runs(
        self, experiment: Experiment, incoming: "Iterable[Incoming]", refused: "Callable[[], bool]" = lambda: False
    ) -> "Imported":
        """Store runs that were not run here: all of them, or none where one is refused, here or by who reads them."""
        from steelyard.store.imports import import_runs

        return import_runs(self.database, experiment, incoming, refused)

    def claim(self, experiment: str, cells: Sequence[Cell], owner: str, now: float) -> set[Cell]:
        """Take cells to run; what another process that lives is at, or has finished, is left out."""
        return leases.claim(self.database, experiment, cells, owner, now)

    def renew(self, owner: str, now: float) -> None:
        """Keep an owner's cells for another minute."""
        leases.renew(self.database, owner, now)

    def release(self, owner: str) -> None:
        """Let go of an owner's cells."""
        leases.release(self.database, owner)

    def pending_events(self, sink: str, limit: int = 100, after: int = 0) -> list[StoredEvent]:
        """The oldest events that a sink has not delivered, those after a place in line."""
        return outbox.pending_events(self.database, sink, limit, after)

    def mark_delivered(self, sink: str, seqs: list[int]) -> None:
        """Note that a sink has delivered these events."""
        outbox.mark_delivered(self.database, sink, seqs)

    def take_sink(self, sink: str, token: str, now: float) -> bool:
        """Take or keep the right to deliver to a sink; False while another process has it."""
        return sinks.take_sink(self.database, sink, token, now)

    def release_sink(self, sink: str, token: str) -> None:
        """Let go of a sink."""
        sinks.release_sink(self.database, sink, token)

    def settle(self, sink: str, seqs: list[int], *, at: str, refused: int = 0) -> None:
        """Note that a sink has dealt with these events."""
        sinks.settle(self.database, sink, seqs, at=at, refused=refused)

    def note_failure(self, sink: str, error: str) -> None:
        """Note that a sink did not take an event."""
        sinks.note_failure(self.database, sink, error)

    def trim_events(self, keep: int) -> int:
        """Drop what is delivered everywhere and the oldest beyond `keep`; how many undelivered ones were lost."""
        return outbox.trim_events(self.database, sinks=(), keep=keep)

    def queue_size(self, sink: str | None = None) -> int:
        """How many events a sink has still to deliver; without a sink, how many are kept."""
        return outbox.queue_size(self.database, sink)

    def sink_states(self, now: float) -> "list[sinks.SinkState]":
        """Every sink that is known, its queue and how it does."""
        return sinks.sink_states(self.database, now)

    def forget_sink(self, sink: str) -> bool:
        """Stop waiting for a sink; whether there was one."""
        return sinks.forget_sink(self.database, sink)

    def trend(self, workspace: str, *, until: str, days: int, arm: str | None = None) -> JsonObject:
        """The scores of a workspace by day, together and by arm."""
        return watching.read_trend(self.database, workspace, until=until, days=days, arm=arm)

    def drift(self, workspace: str, *, as_of: str) -> JsonObject:
        """The week that ends with a day against the week before."""
        return watching.read_drift(self.database, workspace, as_of=as_of)

    def trust(self, workspace: str) -> JsonObject:
        """How many runs in a row each arm has scored Gold or better."""
        return watching.read_trust(self.database, workspace)

    def prune(self, older_than: str, *, dry_run: bool) -> "Pruned":
        """Remove runs that finished before an instant, and artifacts nobody refers to; `dry_run` only counts."""
        from steelyard.store.prune import prune

        return prune(self.database, older_than, dry_run=dry_run)

    def _tags_of(self, sha256: str) -> tuple[str, ...]:
        """The tags of a frozen task, read once."""
        if not sha256:
            return ()  # of no known task
        if sha256 not in self._tags:
            with self.database.read() as connection:
                found = connection.execute(TASK, {"sha256": sha256}).scalar()
            if found is None:
                return ()  # not remembered: it may be stored later
            self._tags[sha256] = tuple(json.loads(found).get("tags", ()))
        return self._tags[sha256]
