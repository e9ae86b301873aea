"""The columns of the list of runs: what each is called, how it is sorted, and what its cells say."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from steelyard.domain.record import JsonObject
from steelyard.web.pages import text

TONES = {
    "PASS": "good",
    "FAIL": "bad",
    "UNPARSEABLE": "even",
    "N/A": "unknown",
    "NOT_RUN": "unknown",
    "completed": "good",
    "failed": "bad",
    "interrupted": "even",
    "COMPLETED": "good",
    "BLOCKED": "even",
    "FAILED": "bad",
    "supported": "good",
    "refuted": "bad",
    "unverified": "unknown",
    "Elite": "elite",
    "Gold": "gold",
    "Silver": "silver",
    "Bronze": "bronze",
    "Unranked": "unknown",
}


@dataclass(frozen=True)
class Cell:
    """What one cell of a table shows; with a `tone` it is a badge, with an `href` a link."""

    text: str | Markup
    tone: str = ""
    href: str = ""
    title: str = ""
    more: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table: `sort` names the order it offers, `shown` whether it is there unasked."""

    name: str
    title: str
    cell: Callable[[JsonObject], Cell]
    sort: str = ""
    numeric: bool = False
    shown: bool = True
    note: str = ""


def badge(value: str | None, title: str = "") -> Cell:
    """A word in its colour."""
    return Cell(text.NONE) if value is None else Cell(value.replace("_", " "), TONES.get(value, "unknown"), title=title)


def run_address(run_id: str, tab: str = "") -> str:
    """Where a run is shown."""
    return f"/runs/{quote(run_id, safe='')}{'/' + tab if tab else ''}"


def _run(row: JsonObject) -> Cell:
    """The end of an id tells runs apart: its start is the time."""
    name = row["run_id"]
    return Cell(name if len(name) <= 16 else f"…{name[-10:]}", href=run_address(name), title=name)


def _status(row: JsonObject) -> Cell:
    shown = badge(row["status"], row["error_class"] or "")
    return Cell(shown.text, shown.tone, title=shown.title, more=row["error_class"] or "")


def _score(row: JsonObject) -> Cell:
    if row["score"] is None:
        return Cell(text.NONE, title="no score: an infrastructure failure is Unranked")
    return Cell(str(row["score"]), more=row["tier"], tone=TONES[row["tier"]])


def _composite(row: JsonObject) -> Cell:
    return Cell(text.NONE if row["composite"] is None else f"{row['composite']:.3f}")


def _number(name: str, shown: Callable[[float | None], str]) -> Callable[[JsonObject], Cell]:
    def cell(row: JsonObject) -> Cell:
        return Cell(shown(row[name]), title="" if row[name] is None else f"{row[name]:,}")

    return cell


def _agent(row: JsonObject) -> Cell:
    version = row["agent_version"] or ""
    return Cell(row["agent"], more=version, title=" ".join(filter(None, (row["agent"], version, row["model"]))))


def _plain(name: str) -> Callable[[JsonObject], Cell]:
    return lambda row: Cell(text.NONE if row[name] is None else row[name])


def _tags(row: JsonObject) -> Cell:
    return Cell(", ".join(json.loads(row["tags"])) or text.NONE)


COLUMNS: tuple[Column, ...] = (
    Column("run", "Run", _run),
    Column("task", "Task", lambda row: Cell(row["task_id"], more=f"#{row['repeat']}")),
    Column("arm", "Arm", _plain("arm")),
    Column("disagreement", "Disagreement", _plain("disagreement"), sort="disagreement", shown=False),
    Column("status", "Status", _status, sort="status"),
    Column("objective", "Objective", lambda row: badge(row["objective"]), sort="objective"),
    Column("judge", "Judge", lambda row: badge(row["judge"]), sort="judge"),
    Column("failure_mode", "Failure mode", lambda row: badge(row["failure_mode"]), sort="failure_mode"),
    Column("score", "Score", _score, sort="score", numeric=True),
    Column(
        "composite",
        "Composite",
        _composite,
        sort="composite",
        numeric=True,
        note="before the cost adjustment, which needs a pair",
    ),
    Column("cost", "Cost", _number("cost_usd", text.money), sort="cost", numeric=True),
    Column("tokens", "Tokens", _number("total_tokens", text.short_count), sort="tokens", numeric=True),
    Column("tool_calls", "Tool calls", _number("tool_calls", text.count), sort="tool_calls", numeric=True),
    Column("duration", "Duration", _number("wall_s", text.seconds), sort="duration", numeric=True),
    Column("agent", "Agent", _agent, sort="agent"),
    Column("finished", "Finished", lambda row: Cell(text.when(row["finished_at"])), sort="finished"),
    Column("workspace", "Workspace", _plain("workspace"), shown=False),
    Column("experiment", "Experiment", _plain("experiment"), shown=False),
    Column("model", "Model", _plain("model"), shown=False),
    Column("outcome", "Outcome", lambda row: badge(row["outcome"]), shown=False),
    Column("files", "Files", _number("files_changed", text.count), numeric=True, shown=False),
    Column("steps", "Steps", _number("steps", text.count), numeric=True, shown=False),
    Column("tags", "Tags", _tags, shown=False),
)
NAMES = tuple(column.name for column in COLUMNS)


def chosen(names: tuple[str, ...], *, disagree: bool) -> list[Column]:
    """The columns of a view; the run itself is always there."""
    if names:
        return [column for column in COLUMNS if column.name in names or column.name == "run"]
    return [column for column in COLUMNS if column.shown or (disagree and column.name == "disagreement")]
