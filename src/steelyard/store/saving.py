"""Storing finished runs: one transaction that holds all of each, its score and its event, or nothing.

Several runs may share a transaction, which costs little more than one; they are scored in their order, each against
those before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.domain.experiment import Finished
from steelyard.domain.grade import JudgeResult
from steelyard.domain.record import canonical_json
from steelyard.domain.run import Run
from steelyard.domain.score import Scorecard, Weights
from steelyard.formulas.scorecard import HISTORY_MOST, facts_of, score_run
from steelyard.store import schema
from steelyard.store.clean import clean_blobs, clean_record
from steelyard.store.connection import Database
from steelyard.store.errors import ConflictError, RefusedError, storing
from steelyard.store.outbox import event_row
from steelyard.store.postgres import add_all, find_all, is_postgres
from steelyard.store.rows import StoredScore, instant, run_row, score_row, scored_event, stored_score
from steelyard.store.statements import (
    ADD_EVENT,
    ADD_JUDGEMENT,
    ADD_RUN,
    ADD_SCORE,
    COUNTING_TRIES,
    END_LEASE,
    FIRST_SCORE,
    LOCK_WORKSPACE,
    RECORD,
    RECORDS,
    RECORDS_ANY,
    REPLACE_TRIES,
    insert_new,
)
from steelyard.store.watching import Scored, watch_new
from steelyard.store.workspaces import baseline_history, history_asked, lock_workspace, weights_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Insert

    from steelyard.domain.record import JsonObject


@dataclass(frozen=True)
class Saved:
    """A run that is stored: the first score it got (None for an infrastructure failure), and whether it is new."""

    score: StoredScore | None
    is_new: bool


@dataclass(frozen=True)
class Tagged:
    """A finished run and its task's tags."""

    finished: Finished
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Ready:
    """A run as it will be read back, its files in place: `kept` has the sha256, packed size and size of each."""

    run: Run
    record: str
    tags: tuple[str, ...]
    blobs: Mapping[str, bytes]
    kept: dict[str, tuple[str, int, int]]


def save(database: Database, finished: Finished, *, scored_at: str, tags: tuple[str, ...] = ()) -> Saved:
    """Store a finished run and score it, unless it is an infrastructure failure.

    The same run again is answered with the score it got; another run under the same id is a `ConflictError`.
    """
    return save_all(database, [Tagged(finished, tags)], scored_at=scored_at)[0]


def save_all(database: Database, runs: Sequence[Tagged], *, scored_at: str) -> list[Saved]:
    """Store runs one after the other, all of them or none."""
    at = instant(scored_at, "scored_at")
    ready = [_prepare(database, tagged) for tagged in runs]
    doing = f"storing run {ready[0].run.run_id}" if len(ready) == 1 else f"storing {len(ready)} runs"
    try:
        with database.write(doing) as connection:
            turn = _Turn(connection, at, ready)
            saved = [turn.save(one) for one in ready]
            turn.write()
            _refer(connection, ready)
    except RefusedError:  # another process stored the same id between our look and our insert
        if len(ready) > 1:
            raise
        with database.read() as connection:
            if stored_record(connection, ready[0].run.run_id) is None:
                raise
            return [_again(connection, ready[0])]
    for one in ready:
        for name, (sha, _, _) in one.kept.items():
            if not database.artifacts.has(sha):  # `prune` took it in the moment before we referred to it
                with storing(doing):
                    database.artifacts.put(one.blobs[name])
    return saved


def _prepare(database: Database, tagged: Tagged) -> _Ready:
    finished = tagged.finished
    blobs = clean_blobs(finished)
    with storing(f"storing run {finished.run.run_id}"):
        kept = {name: (*database.artifacts.put(data), len(data)) for name, data in blobs.items()}
    dumped = finished.run.model_dump()
    cleaned = clean_record(dumped, finished.secrets)
    cleaned["artifacts"] = {**cleaned["artifacts"], **{name: sha for name, (sha, _, _) in kept.items()}}
    if cleaned is dumped:  # nothing had to be redacted: it is read back as it is
        run = finished.run.model_copy(update={"artifacts": cleaned["artifacts"]})
    else:
        run = Run.model_validate(cleaned, strict=False)
    return _Ready(run, canonical_json(cleaned), tagged.tags, blobs, kept)


class _Turn:
    """A transaction in which runs are scored, each against those before it.

    A workspace is locked once, and what it is measured against is kept up here; rows are written together.
    """

    def __init__(self, connection: "Connection", scored_at: str, ready: Sequence[_Ready]) -> None:
        self.connection = connection
        self.scored_at = scored_at
        self._weights: dict[str, Weights] = {}
        self._walls: dict[str, list[float]] = {}
        self._cells: set[tuple[object, ...]] = set()
        self._scored: list[Scored] = []
        self._rows: dict[Insert, list[JsonObject]] = {ADD_RUN: [], ADD_SCORE: [], ADD_EVENT: [], ADD_JUDGEMENT: []}
        self._records = self._begin(sorted({one.run.workspace for one in ready}), [one.run.run_id for one in ready])

    def _begin(self, homes: list[str], run_ids: list[str]) -> dict[str, str]:
        """Lock the workspaces and read what they are measured against; the records of those that are stored."""
        connection = self.connection
        if is_postgres(connection) and len(homes) == 1:  # several are locked one by one, always in one order
            (home,) = homes
            asked = [(LOCK_WORKSPACE, {"workspace": home}), history_asked(home), (RECORDS_ANY, {"run_ids": run_ids})]
            locked, walls, stored = find_all(connection, asked)
            if locked:  # else it is a new one
                self._weights[home] = weights_of(locked[0][0])
                self._walls[home] = [wall for (wall,) in reversed(walls)]
                return dict(stored)
        for home in homes:
            self._weights[home] = lock_workspace(connection, home)
            self._walls[home] = baseline_history(connection, home)
        return _records(connection, run_ids)

    def save(self, one: _Ready) -> Saved:
        """Store a run, unless it is there."""
        run = one.run
        if run.run_id in self._records:
            self.write()
            return _again(self.connection, one)
        self._records[run.run_id] = one.record
        row = run_row(run, one.record, one.tags)
        row |= {"score": None, "tier": "Unranked", "replaced": self._replace(run)}
        card = None
        if not run.is_infrastructure:
            card = score_run(facts_of(run, self._walls[run.workspace], self._weights[run.workspace]))
            row |= {"score": card.score, "tier": card.tier}
            self._tell(run, card)
        self._rows[ADD_RUN].append(row)
        if run.judge is not None:
            self._rows[ADD_JUDGEMENT].append(judgement_row(run.run_id, run.judge))
        if run.experiment:
            self.connection.execute(END_LEASE, _cell(run))
        return Saved(None if card is None else StoredScore(1, self.scored_at, card), is_new=True)

    def write(self) -> None:
        """Write the rows that were collected, and count the scores among them."""
        for scored, told in zip(self._scored, watch_new(self.connection, self._scored), strict=True):
            event = scored_event(scored.card, scored.run.workspace, scored.version)
            self._rows[ADD_EVENT] += [event_row("agent.run.scored", event, scored.at), *told]
        self._scored.clear()
        waiting = [(statement, rows) for statement, rows in self._rows.items() if rows]
        if is_postgres(self.connection):
            add_all(self.connection, [(statement.table, rows) for statement, rows in waiting])
        else:
            for statement, rows in waiting:
                self.connection.execute(statement, rows)
        for _, rows in waiting:
            rows.clear()

    def _replace(self, run: Run) -> int:
        if not run.experiment:
            return 0  # it belongs to no plan: nothing is another try of it
        cell = (run.workspace, *_cell(run).values())
        if cell in self._cells:
            self.write()  # the try before this one is among those collected
        self._cells.add(cell)
        return _replace(self.connection, run)

    def _tell(self, run: Run, card: Scorecard) -> None:
        self._rows[ADD_SCORE].append(score_row(card, 1, self.scored_at))
        self._scored.append(Scored(run, card, 1, self.scored_at))
        if run.outcome == "COMPLETED":
            self._walls[run.workspace] = [*self._walls[run.workspace], run.wall_s][-HISTORY_MOST:]


def _cell(run: Run) -> "JsonObject":
    return {"experiment": run.experiment, "task_id": run.task_id, "arm": run.arm, "repeat": run.repeat}


def stored_record(connection: "Connection", run_id: str) -> str | None:
    """The record of a run; None when it is not stored."""
    return connection.execute(RECORD, {"run_id": run_id}).scalar()


def _records(connection: "Connection", run_ids: list[str]) -> dict[str, str]:
    """The records of those that are stored."""
    if len(run_ids) == 1:
        found = stored_record(connection, run_ids[0])
        return {} if found is None else {run_ids[0]: found}
    return {row.run_id: row.record for row in connection.execute(RECORDS, {"run_ids": run_ids})}


def _again(connection: "Connection", one: _Ready) -> Saved:
    run_id = one.run.run_id
    if stored_record(connection, run_id) != one.record:
        raise ConflictError(f"another run {run_id} is stored already; a run never changes")
    found = connection.execute(FIRST_SCORE, {"run_id": run_id}).mappings().first()
    return Saved(None if found is None else stored_score(found), is_new=False)


def _replace(connection: "Connection", run: Run) -> int:
    """Of all tries of a cell one counts: the newest that was measured, else the newest. 1 when it isn't this one."""
    mine = {**_cell(run), "workspace": run.workspace}
    earlier = connection.execute(COUNTING_TRIES, mine).all()
    if run.is_infrastructure and any(not infrastructure for _, infrastructure in earlier):
        return 1
    if earlier:
        connection.execute(REPLACE_TRIES, {f"of_{name}": value for name, value in mine.items()})
    return 0


def _refer(connection: "Connection", ready: Sequence[_Ready]) -> None:
    """Note which files runs need."""
    kept = [(one.run.run_id, name, *found) for one in ready for name, found in one.kept.items()]
    if not kept:
        return
    # In one order for everybody: two transactions that keep the same artifacts never wait for each other in a circle.
    kept.sort(key=lambda item: (item[2], item[0], item[1]))
    files = {sha: {"sha256": sha, "bytes": size, "stored_bytes": packed} for _, _, sha, packed, size in kept}
    insert_new(connection, schema.artifacts, list(files.values()))
    names = [{"run_id": run_id, "name": name, "sha256": sha} for run_id, name, sha, _, _ in kept]
    insert_new(connection, schema.run_artifacts, names)


def judgement_row(run_id: str, judged: JudgeResult) -> "JsonObject":
    """A verdict as a row of `judgements`."""
    record = canonical_json(judged.model_dump(mode="json"))
    return {"run_id": run_id, "verdict": judged.verdict, "scored_at": judged.scored_at, "record": record}
