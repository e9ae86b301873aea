"""Pages of runs in any order and under any filter, in a time that does not grow with the number of runs.

Every order has an index that begins with the workspace. Filters that an index serves narrow the walk; the others are
checked on the way, for at most `WINDOW` runs a page: a page that found too few says where it stopped, and the next one
goes on from there. So each page costs the same with a thousand runs and with a million.
"""

from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, asc, desc, func, or_, select, tuple_
from sqlalchemy.sql import visitors

from steelyard.domain.record import JsonObject, canonical_json
from steelyard.store import schema
from steelyard.store.clean import storable
from steelyard.store.connection import Database
from steelyard.store.reads import EVERY_RUN, RunFilter
from steelyard.store.workspaces import workspace_names

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

WINDOW = 5_000
MOST_WORKSPACES = 50
NEWEST = "newest"
SORTS = {
    NEWEST: "seq",
    "finished": "finished_at",
    "status": "status",
    "objective": "objective",
    "judge": "judge",
    "failure_mode": "failure_mode",
    "disagreement": "disagreement",
    "score": "score",
    "composite": "composite",
    "cost": "cost_usd",
    "tokens": "total_tokens",
    "tool_calls": "tool_calls",
    "duration": "wall_s",
    "agent": "agent",
}
_NULLABLE = frozenset(["failure_mode", "disagreement", "score", "cost_usd", "total_tokens", "tool_calls"])
# Filters that have an index of their own, the one that usually leaves least first.
_INDEXED = ("experiment", "task_id", "failure_mode", "tier", "verdict", "arm", "objective", "status")
_SEARCHED = ("run_id", "task_id", "arm", "experiment", "agent", "agent_version", "model", "error_class", "tags")
_RUNS = schema.runs.c
_COLUMNS = [column for column in schema.runs.columns if column.name != "record"]


@dataclass(frozen=True)
class Place:
    """A place in an order: the sorted value (None where there is none) and the run's `seq`."""

    value: Any
    seq: int


@dataclass(frozen=True)
class Question:
    """Which runs, in which order; `text` is looked for in names, `tag` and `run_gate` must be the run's.

    A page looks through at most `window` runs.
    """

    wanted: RunFilter = field(default_factory=RunFilter)
    text: str | None = None
    tag: str | None = None
    run_gate: str | None = None
    sort: str = NEWEST
    ascending: bool = False
    window: int = WINDOW

    @property
    def column(self) -> str:
        """The column that is sorted by."""
        return SORTS[self.sort]


@dataclass(frozen=True)
class Answer:
    """A page: its rows, where the next one begins, and whether the walk stopped before the page was full."""

    rows: list[JsonObject]
    next: Place | None
    stopped_early: bool = False


def explore(database: Database, question: Question, *, after: Place | None = None, limit: int = 50) -> Answer:
    """One page of runs."""
    with database.read() as connection:
        workspace = question.wanted.workspace
        names: list[str | None] = [workspace]
        indexed = question.sort != NEWEST or any(getattr(question.wanted, name) for name in _INDEXED[1:])
        if workspace is None and indexed and not question.wanted.experiment:
            found = workspace_names(connection)
            names = [*found] if 0 < len(found) <= MOST_WORKSPACES else [None]
        scans = [_scan(connection, question, name, after, limit) for name in names]
    return _merged(scans, question, limit)


def _merged(scans: "list[tuple[list[JsonObject], Place | None]]", question: Question, limit: int) -> Answer:
    """The scans of several workspaces as one: nothing behind the place where one of them stopped is shown."""

    def order(a: Place, b: Place) -> int:
        if (a.value is None) != (b.value is None):
            return 1 if a.value is None else -1  # what is unknown comes last, whichever way
        mine, other = (a.seq, b.seq) if a.value is None else ((a.value, a.seq), (b.value, b.seq))
        sign = (mine > other) - (mine < other)  # type: ignore[operator]  # both have the same shape
        return sign if question.ascending else -sign

    def place(row: JsonObject) -> Place:
        return Place(None if question.sort == NEWEST else row[question.column], row["seq"])

    key = cmp_to_key(order)
    ends = sorted((end for _, end in scans if end is not None), key=key)
    rows = sorted((row for found, _ in scans for row in found), key=lambda row: key(place(row)))
    if ends:
        rows = [row for row in rows if order(place(row), ends[0]) <= 0]
    if len(rows) > limit:
        return Answer(rows[:limit], place(rows[limit - 1]))
    return Answer(rows, ends[0] if ends else None, stopped_early=bool(ends))


def _scan(
    connection: "Connection", question: Question, workspace: str | None, after: Place | None, limit: int
) -> tuple[list[JsonObject], Place | None]:
    """Up to `limit` + 1 rows of one workspace, and the place where the walk was broken off, if it was."""
    rows: list[JsonObject] = []
    for base in _phases(question, after):
        walk = _Walk(question, workspace, connection)
        found, end = walk.rows(base, limit + 1 - len(rows))
        rows += found
        if end is not None or len(rows) > limit:
            return rows, end
    return rows, None


def _phases(question: Question, after: Place | None) -> "list[list[ColumnElement[bool]]]":
    """What is known comes first, what is unknown last: each has its own part of the index."""
    column = _RUNS[question.column]
    beyond = _beyond(question, after)
    if column.name not in _NULLABLE:
        return [beyond]
    known = [column.is_not(None), *([] if after is None or after.value is None else beyond)]
    unknown = [column.is_(None), *(beyond if after is not None and after.value is None else [])]
    if question.wanted.disagree and question.sort == "disagreement":
        return [known]
    return [unknown] if after is not None and after.value is None else [known, unknown]


def _beyond(question: Question, after: Place | None) -> "list[ColumnElement[bool]]":
    if after is None:
        return []
    seq, column = _RUNS.seq, _RUNS[question.column]
    if question.sort == NEWEST or after.value is None:
        return [seq > after.seq if question.ascending else seq < after.seq]
    pair, there = tuple_(column, seq), tuple_(after.value, after.seq)
    return [pair > there if question.ascending else pair < there]


class _Walk:
    """One walk along an index."""

    def __init__(self, question: Question, workspace: str | None, connection: "Connection") -> None:
        self.question = question
        self.connection = connection
        self.first: list[ColumnElement[bool]] = []
        if workspace is not None:
            self.first.append(_RUNS.workspace == storable(workspace))

    def rows(self, base: "list[ColumnElement[bool]]", limit: int) -> tuple[list[JsonObject], Place | None]:
        """The next rows that match everything, and where the walk was broken off before there were enough."""
        question = self.question
        column = _RUNS[question.column]
        turn = asc if question.ascending else desc
        order = [turn(_RUNS.seq)] if question.sort == NEWEST else [turn(column), turn(_RUNS.seq)]
        narrow = self._narrowest(base)
        inside = [*self.first, *narrow, *_times(question), *base]
        outside = _rest(question, narrow)
        if not outside:
            walk = select(*_COLUMNS).where(*inside).order_by(*order).limit(limit)
            return [dict(row) for row in self.connection.execute(walk).mappings()], None
        # The window holds only what is looked at: reading whole rows of all that do not match costs more than the walk.
        looked = _columns([condition(_RUNS) for condition in outside])
        walk = select(*looked).where(*inside).order_by(*order)
        window = walk.limit(question.window).subquery("walk")
        matching = select(window.c.seq).where(*[condition(window.c) for condition in outside]).limit(limit)
        query = select(*_COLUMNS).where(_RUNS.seq.in_(matching)).order_by(*order)
        found = [dict(row) for row in self.connection.execute(query).mappings()]
        if len(found) >= limit:
            return found, None
        last = select(column, _RUNS.seq).where(*inside).order_by(*order).offset(question.window - 1).limit(1)
        end = self.connection.execute(last).first()
        return found, None if end is None else Place(None if question.sort == NEWEST else end[0], end[1])

    def _narrowest(self, base: "list[ColumnElement[bool]]") -> "list[ColumnElement[bool]]":
        """The filter that an index serves: always for the newest runs, and for another order when few runs match it."""
        wanted, window = self.question.wanted, self.question.window
        given = [name for name in _INDEXED if getattr(wanted, name) is not None]
        found = [
            (_RUNS.judge if name == "verdict" else _RUNS[name]) == storable(getattr(wanted, name))
            for name in given
            if self.first or name == "experiment"
        ]
        if self.question.sort == NEWEST:
            return found if len(found) < 2 else [self._sparsest(found, base)]
        for condition in found:
            some = select(_RUNS.seq).where(*self.first, condition).limit(window + 1).subquery()
            if (self.connection.execute(select(func.count()).select_from(some)).scalar() or 0) <= window:
                return [condition]
        return []

    def _sparsest(self, found: "list[ColumnElement[bool]]", base: "list[ColumnElement[bool]]") -> "ColumnElement[bool]":
        """Of several filters that have an index, the one whose window reaches furthest."""
        ascending, window = self.question.ascending, self.question.window
        order = asc(_RUNS.seq) if ascending else desc(_RUNS.seq)
        ends: list[tuple[int, ColumnElement[bool]]] = []
        for condition in found:
            place = select(_RUNS.seq).where(*self.first, condition, *base).order_by(order)
            end = self.connection.execute(place.offset(window - 1).limit(1)).scalar()
            if end is None:
                return condition  # all that is left
            ends.append((end, condition))
        return (max if ascending else min)(ends, key=lambda one: one[0])[1]


def _columns(conditions: "list[ColumnElement[bool]]") -> "list[Column[Any]]":
    """The columns that conditions look at, and `seq`."""
    parts = [part for condition in conditions for part in visitors.iterate(condition)]
    return list({"seq": _RUNS.seq, **{part.name: part for part in parts if isinstance(part, Column)}}.values())


def _times(question: Question) -> "list[ColumnElement[bool]]":
    """In the order of finishing, a span of time is a part of the index."""
    wanted = question.wanted
    return RunFilter(since=wanted.since, until=wanted.until).conditions() if question.sort == "finished" else []


def _rest(question: Question, narrow: "list[ColumnElement[bool]]") -> list[Any]:
    """The conditions that are checked on the way, each as a function of the columns."""
    wanted = question.wanted
    kept = {"since", "until"} if question.sort == "finished" else set()
    kept |= {str(condition.left.name) for condition in narrow}
    kept |= {"verdict"} if "judge" in kept else set()
    changes: dict[str, Any] = {name: None for name in RunFilter.__dataclass_fields__ if name in kept}
    left = replace(wanted, workspace=None, **changes)
    found: list[Any] = []
    if left.disagree and question.sort == "disagreement":
        left = replace(left, disagree=False)
    if left != EVERY_RUN:
        found += [lambda c, n=n: left.conditions(c)[n] for n in range(len(left.conditions()))]
    if question.run_gate is not None:
        found.append(lambda c: c.run_gate == question.run_gate)
    if question.tag is not None:
        needle = canonical_json(storable(question.tag))
        found.append(lambda c: c.tags.contains(needle, autoescape=True))
    if question.text is not None:
        text = storable(question.text)
        found.append(lambda c: or_(*[c[name].icontains(text, autoescape=True) for name in _SEARCHED]))
    return found
