"""The filters of the list of runs: read from the address, kept in it, and explained when they can't be understood."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args
from urllib.parse import urlencode

from steelyard.domain.grade import FailureMode, Verdict
from steelyard.domain.record import canonical_json, sha256
from steelyard.domain.run import JudgeGate, Status
from steelyard.domain.score import Tier
from steelyard.errors import InputError
from steelyard.store.explore import NEWEST, SORTS, Place, Question
from steelyard.store.reads import RunFilter
from steelyard.store.rows import instant

LONGEST = 200


@dataclass(frozen=True)
class Field:
    """One filter: its name in the address, what people call it, and what it may be (anything when empty)."""

    name: str
    title: str
    choices: tuple[str, ...] = ()
    kind: str = "text"


FIELDS = (
    Field("workspace", "Workspace"),
    Field("experiment", "Experiment"),
    Field("task", "Task"),
    Field("arm", "Arm"),
    Field("status", "Status", get_args(Status)),
    Field("objective", "Objective", get_args(Verdict)),
    Field("verdict", "Judge", get_args(JudgeGate)),
    Field("gate", "Run badge", ("PASS", "FAIL")),
    Field("tier", "Tier", get_args(Tier)),
    Field("failure_mode", "Failure mode", get_args(FailureMode)),
    Field("tag", "Tag"),
    Field("since", "Finished from", kind="time"),
    Field("until", "Finished before", kind="time"),
    Field("q", "Search"),
)
_RENAMED = {"task": "task_id"}


@dataclass
class Asked:
    """What an address asks for: values as they were given, and every mistake in words."""

    values: dict[str, str] = field(default_factory=dict)
    sort: str = NEWEST
    ascending: bool = False
    disagree: bool = False
    columns: tuple[str, ...] = ()
    after: Place | None = None
    mistakes: list[str] = field(default_factory=list)
    question: Question = field(default_factory=Question)

    @property
    def is_filtered(self) -> bool:
        """Whether anything is left out."""
        return bool(self.values) or self.disagree

    def address(self, path: str = "/runs", **changes: Any) -> str:
        """The address of this view, changed; the page itself is not kept, a change starts at the first."""
        state: dict[str, Any] = {**self.values}
        if self.disagree:
            state["disagree"] = "1"
        if self.sort != NEWEST:
            state |= {"sort": self.sort, "dir": "asc" if self.ascending else "desc"}
        if self.columns:
            state["cols"] = ",".join(self.columns)
        state |= changes
        query = urlencode({name: value for name, value in state.items() if value not in (None, "")})
        return f"{path}?{query}" if query else path

    def seal(self) -> str:
        """What ties a cursor to its filters and order."""
        return sha256(canonical_json([self.values, self.sort, self.ascending, self.disagree]))[:12]


def read_asked(params: Mapping[str, str], workspace: str | None, known_columns: tuple[str, ...]) -> Asked:
    """What the address asks for; `workspace` is the only one that the caller may see, None for all."""
    asked = Asked(disagree=params.get("disagree") in ("1", "on", "true"))
    for each in FIELDS:
        given = params.get(each.name, "").strip()
        if len(given) > LONGEST:
            asked.mistakes.append(f"{each.title}: longer than {LONGEST} characters")
        elif given and each.choices and given not in each.choices:
            asked.mistakes.append(f"{each.title}: {given!r} is unknown; allowed: {', '.join(each.choices)}")
        elif given:
            asked.values[each.name] = given
    _read_order(asked, params)
    wanted = [name for name in params.get("cols", "").split(",") if name]
    unknown = [name for name in wanted if name not in known_columns]
    if unknown:
        asked.mistakes.append(f"Columns: {unknown[0]!r} is unknown; allowed: {', '.join(known_columns)}")
    asked.columns = tuple(name for name in wanted if name in known_columns)
    asked.question = _question(asked, workspace)
    asked.after = _read_place(asked, params.get("cursor", ""))
    return asked


def _read_order(asked: Asked, params: Mapping[str, str]) -> None:
    sort, direction = params.get("sort", NEWEST), params.get("dir", "desc")
    if sort not in SORTS:
        asked.mistakes.append(f"Order: {sort[:LONGEST]!r} is unknown; allowed: {', '.join(SORTS)}")
    elif direction not in ("asc", "desc"):
        asked.mistakes.append(f"Direction: {direction[:LONGEST]!r} is unknown; allowed: asc, desc")
    else:
        asked.sort, asked.ascending = sort, direction == "asc"


def _question(asked: Asked, workspace: str | None) -> Question:
    values = asked.values
    names = ("experiment", "task", "arm", "status", "objective", "verdict", "tier", "failure_mode")
    chosen: dict[str, Any] = {_RENAMED.get(name, name): values.get(name) for name in names}
    for name in ("since", "until"):
        try:
            chosen[name] = instant(values[name], name) if name in values else None
        except InputError as error:
            asked.mistakes.append(str(error))
            chosen[name] = None
    mine = values.get("workspace") if workspace is None else workspace
    timed = chosen["since"] is not None or chosen["until"] is not None
    sort = asked.sort
    if sort == NEWEST and (timed or asked.disagree):
        sort = "finished" if timed else "disagreement"
    return Question(
        wanted=RunFilter(workspace=mine, disagree=asked.disagree, **chosen),
        text=values.get("q"),
        tag=values.get("tag"),
        run_gate=values.get("gate"),
        sort=sort,
        ascending=asked.ascending,
    )


def make_cursor(asked: Asked, place: Place) -> str:
    """Where the next page begins."""
    text = canonical_json([place.value, place.seq, asked.seal()])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_place(asked: Asked, cursor: str) -> Place | None:
    if not cursor:
        return None
    try:
        text = base64.b64decode(cursor[:2000] + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        value, seq, seal = json.loads(text)
        good = seal == asked.seal() and type(seq) is int and 0 <= seq < 2**62
        if good and (value is None or type(value) in (str, int, float)):
            return Place(value, seq)
    except (binascii.Error, ValueError, TypeError):
        pass
    asked.mistakes.append("Page: the address is not one of a next page with these filters; start at the first page")
    return None
