"""Pages of runs in any order: every run once, in order, whatever the filter, on both databases."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.store.database import Store, open_store
from steelyard.store.explore import SORTS, Place, Question, explore
from steelyard.store.reads import RunFilter
from tests.web.pages.many import add_many

KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
COUNT = 230


@pytest.fixture(scope="module", params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Two workspaces of runs with unknown values among them."""
    folder = tmp_path_factory.mktemp("explore")
    if request.param == "sqlite":
        url = f"sqlite:///{folder / 'steelyard.db'}"
        with open_store(url, folder / "artifacts") as opened:
            yield _filled(opened)
        return
    from tests.postgres_server import new_database

    with (
        new_database(request.getfixturevalue("postgres_server"), f"explore_{folder.name}".lower()[:60]) as url,
        open_store(url, Path(folder, "artifacts")) as opened,
    ):
        yield _filled(opened)


def _filled(store: Store) -> Store:
    add_many(store, COUNT, "one", "exp_one")
    from sqlalchemy import update

    from steelyard.store import schema

    with store.database.write("renaming") as connection:
        runs = schema.runs
        half = runs.c.seq % 3 == 0
        connection.execute(update(runs).where(half).values(workspace="two", experiment="exp_two"))
        connection.execute(schema.workspaces.insert().values(id="two"))
    return store


def walk(store: Store, question: Question, limit: int = 17) -> list[dict[str, Any]]:
    """All pages of a question, one after the other."""
    found: list[dict[str, Any]] = []
    after: Place | None = None
    while True:
        page = explore(store.database, question, after=after, limit=limit)
        assert len(page.rows) <= limit
        found += page.rows
        after = page.next
        if after is None:
            return found


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("workspace", [None, "two"])
@pytest.mark.parametrize("sort", SORTS)
def test_each_order_shows_every_run_once(store: Store, sort: str, workspace: str | None, ascending: bool) -> None:
    """The pages of any order together are all runs, sorted, with unknown values last whichever way."""
    question = Question(RunFilter(workspace=workspace), sort=sort, ascending=ascending)
    rows = walk(store, question)
    every = [row for row in store.runs(limit=1000) if workspace in (None, row["workspace"])]
    assert sorted(row["seq"] for row in rows) == sorted(row["seq"] for row in every)
    column = question.column
    known = [(row[column], row["seq"]) for row in rows if row[column] is not None]
    assert known == sorted(known, reverse=not ascending)
    assert [row[column] is None for row in rows] == sorted(row[column] is None for row in rows)


FILTERS: list[tuple[Question, Any]] = [
    (Question(RunFilter(arm="plain")), lambda row: row["arm"] == "plain"),
    (Question(RunFilter(arm="plain", tier="Gold"), sort="cost"), lambda r: r["arm"] == "plain" and r["tier"] == "Gold"),
    (Question(RunFilter(verdict="FAIL"), sort="score"), lambda row: row["judge"] == "FAIL"),
    (Question(RunFilter(disagree=True), sort="disagreement"), lambda row: row["disagreement"] is not None),
    (Question(RunFilter(disagree=True)), lambda row: row["disagreement"] is not None),
    (Question(RunFilter(experiment="exp_two")), lambda row: row["experiment"] == "exp_two"),
    (Question(text="TASK-1"), lambda row: "task-1" in row["task_id"]),
    (Question(text="100%_"), lambda row: False),
    (Question(tag="bulk", run_gate="PASS"), lambda row: True),
    (Question(tag="bul"), lambda row: False),
    (
        Question(RunFilter(since="2026-01-01T00:00:30.000000Z", until="2026-01-01T00:01:30.000000Z"), sort="finished"),
        lambda row: "2026-01-01T00:00:30" <= row["finished_at"] < "2026-01-01T00:01:30",
    ),
]


@pytest.mark.parametrize(("question", "matches"), FILTERS, ids=range(len(FILTERS)))
def test_filters_leave_exactly_what_matches(store: Store, question: Question, matches: Any) -> None:
    """Whether an index serves a filter or it is checked on the way, the runs are the same."""
    rows = walk(store, question)
    every = store.runs(limit=1000)
    assert sorted(row["seq"] for row in rows) == sorted(row["seq"] for row in every if matches(row))


@pytest.mark.parametrize("sort", ["newest", "cost", "score"])
def test_a_page_stops_looking_and_the_next_goes_on(store: Store, sort: str) -> None:
    """With a window smaller than the gaps between matches, pages may be short or empty, but nothing is lost."""
    question = Question(text="task-11", sort=sort, window=7)
    early = explore(store.database, question, limit=17)
    assert early.stopped_early
    rows = walk(store, question)
    every = [row["seq"] for row in store.runs(limit=1000) if "task-11" in row["task_id"]]
    assert sorted(row["seq"] for row in rows) == sorted(every)
    assert len(every) > 1
