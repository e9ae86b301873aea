"""Storing runs that were not run here: all of a file or nothing, and nothing twice."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import select

from steelyard.domain.experiment import Experiment
from steelyard.domain.record import JsonObject, canonical_json
from steelyard.domain.run import Run
from steelyard.errors import InputError
from steelyard.formulas.records import is_success
from steelyard.store import schema
from steelyard.store.clean import clean_record, exact_json
from steelyard.store.connection import Database
from steelyard.store.rows import instant, run_row
from steelyard.store.statements import ADD_RUN, insert_new

if TYPE_CHECKING:
    from sqlalchemy import Connection

BATCH = 500
_RUNS = schema.runs.c


@dataclass(frozen=True)
class Incoming:
    """A run to be stored, the score that its record states, and where it stands for the user."""

    run: Run
    place: str
    score: int | None = None
    tier: str = "Unranked"


@dataclass
class Imported:
    """What became of the runs; `problems` names each that was refused, and then nothing was stored."""

    added: int = 0
    unchanged: int = 0
    redacted: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)


class _GiveUpError(Exception):
    """Something was refused: the transaction is taken back."""


def import_runs(
    database: Database, experiment: Experiment, incoming: Iterable[Incoming], refused: Callable[[], bool]
) -> Imported:
    """Add the runs in their order, in one transaction; a run that is there already with the same body is left alone.

    `refused` is asked when all are read: then nothing is stored, because the reader found a bad line.
    """
    done = Imported()
    try:
        with database.write(f"importing into experiment {experiment.id}") as connection:
            _make_experiment(connection, experiment)
            cells = _cells(connection, experiment.id)
            stream = iter(incoming)
            while batch := list(islice(stream, BATCH)):
                _add(connection, batch, cells, done)
            if done.problems or refused() or not done.added:
                raise _GiveUpError
    except _GiveUpError:
        done.added = 0
    return done


def _make_experiment(connection: "Connection", experiment: Experiment) -> None:
    table = schema.experiments
    found = connection.execute(select(table.c.record).where(table.c.id == experiment.id)).scalar()
    if found is not None:
        known = Experiment.model_validate_json(found)
        if not known.settings.get("imported"):
            raise InputError(f"experiment {experiment.id} was run here; give the imported runs another --experiment")
        if known.workspace != experiment.workspace:
            raise InputError(
                f"experiment {experiment.id} is in workspace {known.workspace}, not {experiment.workspace}"
            )
        return
    insert_new(connection, schema.workspaces, [{"id": experiment.workspace}])
    row = {
        "id": experiment.id,
        "workspace": experiment.workspace,
        "created_at": instant(experiment.created_at, "created_at"),
        "suite_path": None,
        "record": exact_json(experiment.model_dump(mode="json")),
    }
    connection.execute(table.insert().values(row))


def _cells(connection: "Connection", experiment: str) -> dict[tuple[str, str, int], str]:
    rows = connection.execute(
        select(_RUNS.task_id, _RUNS.arm, _RUNS.repeat, _RUNS.run_id).where(
            _RUNS.experiment == experiment, _RUNS.infrastructure == 0
        )
    )
    return {(row.task_id, row.arm, row.repeat): f"run {row.run_id}, which is stored" for row in rows}


def _add(
    connection: "Connection", batch: list[Incoming], cells: dict[tuple[str, str, int], str], done: Imported
) -> None:
    kept = list(_cleaned(batch, done))
    query = select(_RUNS.run_id, _RUNS.record).where(_RUNS.run_id.in_([cleaned["run_id"] for _, cleaned in kept]))
    known: dict[str, Run] = {row.run_id: Run.model_validate_json(row.record) for row in connection.execute(query)}
    rows: list[JsonObject] = []
    for one, cleaned in kept:
        run = Run.model_validate(cleaned, strict=False)
        before = known.get(run.run_id)
        cell = (run.task_id, run.arm, run.repeat)
        if before is not None:
            _same(one, before, run, done)
        elif not run.is_infrastructure and cell in cells:
            key = f"task '{run.task_id}', arm '{run.arm}', repeat {run.repeat}"
            done.problems.append((one.place, f"repeat: {key} is already {cells[cell]}"))
        else:
            known[run.run_id] = run
            if not run.is_infrastructure:
                cells[cell] = f"at {one.place}"
            done.added += 1
            rows.append({**run_row(run, canonical_json(cleaned), ()), "score": one.score, "tier": one.tier})
    if rows and not done.problems:
        connection.execute(ADD_RUN, rows)


def _cleaned(batch: list[Incoming], done: Imported) -> Iterator[tuple[Incoming, JsonObject]]:
    """Each run with everything that looks like a secret taken out; one that is named by it is refused."""
    for one in batch:
        cleaned = clean_record(one.run.model_dump(), ())
        if cleaned["imported"] != one.run.imported:
            done.redacted += 1
            try:
                kept = json.loads(cleaned["imported"])
            except ValueError:
                kept = {}
            if any(kept.get(name) != cleaned[name] for name in ("run_id", "task_id", "arm", "repeat")):
                done.problems.append((one.place, "a name looks like a secret; take it out, nothing secret is stored"))
                continue
        yield one, cleaned


def _same(one: Incoming, before: Run, now: Run, done: Imported) -> None:
    if before.imported is None:
        same = _facts(before) == _facts(now)
    else:
        same = json.loads(before.imported) == json.loads(now.imported or "null")
    if same:
        done.unchanged += 1
    else:
        text = (
            f"run_id: another run {now.run_id} is stored already (experiment {before.experiment}); a run never changes"
        )
        done.problems.append((one.place, text))


def _facts(run: Run) -> tuple[object, ...]:
    usage = run.usage
    tokens = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return (run.task_id, run.arm, run.repeat, is_success(run), run.wall_s, usage.cost_usd, tokens)
