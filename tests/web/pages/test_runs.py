"""The list of runs: filters, order, pages, columns, exports, and what is said when there is nothing to show."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from steelyard.store.explore import NEWEST, SORTS, WINDOW
from tests.web.pages.many import name_of
from tests.web.pages.world import MANY
from tests.web.server import Served, serving

HTML = {"Accept": "text/html"}
NAME = re.compile(r'<a href="/runs/(run_[^"]*)"')


def names(page: httpx.Response) -> list[str]:
    """The runs on a page."""
    return NAME.findall(page.text)


def following(page: httpx.Response) -> str | None:
    """The address of the next page."""
    found = re.search(r'href="([^"]*)" rel="next"', page.text)
    return found[1].replace("&amp;", "&") if found else None


def test_pages_lead_through_all_runs_once(pages: Served) -> None:
    """Following the links shows each run of a filter exactly once, also past what one page may look through."""
    seen: list[str] = []
    address: str | None = "/runs?workspace=many&q=task-7&status=completed&tier=Elite"
    with pages.client() as client:
        while address is not None:
            page = client.get(address, headers=HTML)
            assert page.status_code == 200
            seen += names(page)
            address = following(page)
        known = client.get("/runs.csv?workspace=many&q=task-7&status=completed&tier=Elite")
    assert len(seen) == len(set(seen)) > 0
    assert seen == [row["run_id"] for row in csv.DictReader(io.StringIO(known.text))]


@pytest.mark.parametrize("sort", [name for name in SORTS if name != NEWEST])
def test_every_order_is_an_order(pages: Served, sort: str) -> None:
    """Ascending and descending, what is unknown last either way, and all runs in both; the column's head offers it."""
    column = SORTS[sort]
    with pages.client() as client:
        table = {
            way: list(csv.DictReader(io.StringIO(client.get(f"/runs.csv?workspace=odd&sort={sort}&dir={way}").text)))
            for way in ("asc", "desc")
        }
        page = client.get("/runs?workspace=odd&disagree=1", headers=HTML).text
    for way, rows in table.items():
        values = [row[column] for row in rows]
        known = [float(value) if re.fullmatch(r"-?[\d.e-]+", value) else value for value in values if value != ""]
        assert values[: len(known)].count("") == 0
        assert known == sorted(known, reverse=way == "desc")
    assert sorted(row["run_id"] for row in table["asc"]) == sorted(row["run_id"] for row in table["desc"])
    assert f"sort={sort}&amp;" in page


def test_a_rare_match_says_how_far_the_page_looked(pages: Served) -> None:
    """A page never looks through more than the window, and says so instead of claiming that nothing is there."""
    assert MANY > WINDOW
    with pages.client() as client:
        name = name_of(MANY - WINDOW - 10)
        page = client.get(f"/runs?workspace=many&q={name}", headers=HTML)
        assert names(page) == []
        assert f"{WINDOW:,} runs looked through" in page.text
        onward = following(page)
        assert onward is not None
        assert names(client.get(onward, headers=HTML)) == [name]


def test_disagreements_are_a_view_of_their_own(pages: Served) -> None:
    """Only runs whose gates disagree, with the name of the disagreement."""
    with pages.client() as client:
        page = client.get("/runs?disagree=1&workspace=odd", headers=HTML)
    assert "run_rich" in names(page)
    assert "run_ledger" not in names(page)
    assert "plausible but violates a hard constraint" in page.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("tier=Tin", "Tier: &#39;Tin&#39; is unknown; allowed: Unranked, Bronze"),
        ("since=yesterday", "is not an ISO 8601 time"),
        ("sort=colour", "Order: &#39;colour&#39; is unknown"),
        ("dir=up", "Direction"),
        ("cols=run,nope", "Columns: &#39;nope&#39; is unknown"),
        ("cursor=abc", "not one of a next page"),
        ("cursor=W251bGwsMSwieCJd", "not one of a next page"),
        ("task=" + "x" * 300, "longer than 200 characters"),
    ],
)
def test_a_filter_that_makes_no_sense_is_explained(pages: Served, query: str, said: str) -> None:
    """The page says what is wrong and what is allowed, and keeps the form."""
    with pages.client() as client:
        page = client.get(f"/runs?{query}", headers=HTML)
    assert page.status_code == 422
    assert said in page.text
    assert '<form class="filters"' in page.text


def test_exports_hold_the_filtered_runs(pages: Served) -> None:
    """CSV, JSON and Parquet hold the same runs in the same order; formulas are marked as text."""
    import polars as pl

    query = "workspace=odd&sort=duration&dir=asc"
    with pages.client() as client:
        table = list(csv.DictReader(io.StringIO(client.get(f"/runs.csv?{query}").text)))
        documents = client.get(f"/runs.json?{query}").json()
        frame = pl.read_parquet(io.BytesIO(client.get(f"/runs.parquet?{query}").content))
        refused = client.get("/runs.csv?tier=Tin")
        unknown = client.get("/runs.xlsx")
    ids = [row["run_id"] for row in table]
    assert len(ids) == 9
    assert ids == [row["run_id"] for row in documents] == frame["run_id"].to_list()
    assert documents[0]["gates"].keys() == {"objective", "judge", "run"}
    assert (refused.status_code, unknown.status_code) == (422, 404)


def test_an_empty_store_tells_the_next_command(tmp_path: Path) -> None:
    """Nothing stored: the page says how to get something."""
    with serving(tmp_path / "home") as served, served.client() as client:
        page = client.get("/runs", headers=HTML)
        exported = client.get("/runs.json")
    assert "steelyard demo" in page.text
    assert exported.json() == []


def test_a_filter_without_matches_offers_all_runs(pages: Served) -> None:
    """No dead end."""
    with pages.client() as client:
        page = client.get("/runs?workspace=nobody", headers=HTML)
    assert page.status_code == 200
    assert "No run matches these filters" in page.text


def test_every_page_links_to_its_json(pages: Served) -> None:
    """The twin answers, and answers JSON."""
    with pages.client() as client:
        for address in ("/runs", "/runs?arm=plain&q=x", "/runs/run_rich", "/runs/run_rich/stages"):
            page = client.get(address, headers=HTML)
            found = re.search(r'rel="alternate" type="application/json" href="([^"]*)"', page.text)
            assert found is not None
            assert client.get(found[1].replace("&amp;", "&")).headers["content-type"] == "application/json"


@pytest.mark.browser
def test_the_browser_keeps_the_view_in_the_address(look: Callable[..., Any]) -> None:
    """Sorting, filtering and choosing columns change the address alone; opening it again shows the same."""
    tab = look()
    tab.goto("/runs?workspace=many")
    tab.click("th >> text=Cost")
    tab.wait_for_url("**sort=cost&dir=desc")
    tab.click("th >> text=Cost")
    tab.wait_for_url("**sort=cost&dir=asc")
    assert tab.get_attribute("th[aria-sort]", "aria-sort") == "ascending"
    tab.click("summary >> text=Columns")
    tab.uncheck("input[value=judge]")
    tab.fill("input[name=q]", "task-3")
    tab.click("button >> text=Show")
    tab.wait_for_url("**q=task-3**")
    assert "sort=cost" in tab.url
    assert "tier=" not in tab.url
    heads = tab.locator("thead th").all_inner_texts()
    assert "Judge" not in heads
    assert "Objective" in heads
    first = tab.locator("tbody tr").first.inner_text()
    again = look()
    again.goto(tab.url)
    assert again.locator("tbody tr").first.inner_text() == first
    assert tab.wrongs == again.wrongs == []
