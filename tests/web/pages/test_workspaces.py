"""Workspaces: trend, tiers, drift with its interval, trust, baseline and the leaderboard, as the API tells them."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest

from tests.web.pages.test_run import text_of
from tests.web.pages.watched import ARMS, DAYS, LAST, WORKSPACE
from tests.web.server import Served

ADDRESS = f"/workspaces/{WORKSPACE}?until={LAST}"


def test_the_list_tells_how_each_workspace_scored(pages: Served) -> None:
    """One row a workspace, with a link that keeps the span."""
    page = text_of(pages, f"/workspaces?until={LAST}&days=30")
    assert f'href="/workspaces/{WORKSPACE}?days=30"' in page
    assert 'href="/workspaces/odd?days=30"' in page
    with pages.client() as client:
        told = {row["workspace"]: row for row in client.get(f"/v1/workspaces?until={LAST}").json()["data"]}
    assert told[WORKSPACE]["runs"] == DAYS * len(ARMS) * 3 + 1
    assert told[WORKSPACE]["last_day"] == LAST
    assert len(told[WORKSPACE]["days"]) == DAYS


def test_the_trend_has_a_point_a_day_over_the_tiers(pages: Served) -> None:
    """A dot and its words for each day that has runs; bars add up to the day's runs."""
    page = text_of(pages, ADDRESS)
    with pages.client() as client:
        trend = client.get(f"/v1/workspaces/{WORKSPACE}/trend?until={LAST}&days=30").json()
    said = re.findall(r"<title>(\S+): mean ([\d.]+) of (\d+) runs</title>", page)
    assert said == [(day["day"], f"{day['mean']:.1f}", str(day["runs"])) for day in trend["days"]]
    bars = re.findall(rf"<title>{LAST}: (\d+) (?:Bronze|Silver|Gold|Elite)</title>", page)
    assert sum(map(int, bars)) == trend["days"][-1]["runs"]
    walls = re.findall(r"<title>(\S+): p50 ", page)
    assert walls == [day["day"] for day in trend["days"] if day["baseline_p50_s"] is not None]


def test_drift_is_shown_with_its_interval(pages: Served) -> None:
    """The arm that got better is called better, with the interval that leaves out 0; the others are not."""
    page = text_of(pages, ADDRESS)
    with pages.client() as client:
        drift = client.get(f"/v1/workspaces/{WORKSPACE}/drift?as_of={LAST}").json()
    low, high = drift["arms"]["with_skill"]["interval"]
    card = page[page.index('id="drift-title"') : page.index('id="baseline-title"')]
    row = card[card.index(">with_skill<") : card.index(">with_skill_and_search<")]
    assert low > 0
    assert f"+{low:.1f} to +{high:.1f}" in row
    assert ">better<" in row
    assert card.count(">better<") == sum(one["drifted"] == "up" for one in [drift, *drift["arms"].values()])


def test_the_leaderboard_ranks_arms_and_shows_trust(pages: Served) -> None:
    """By mean score; an arm with one run has no place; the streak is the API's."""
    page = text_of(pages, ADDRESS)
    card = page[page.index('id="arms-title"') : page.index('id="drift-title"')]
    places = re.findall(r'<span class="rank">(\d*)</span> <a href="([^"]*)"', card)
    assert [place for place, _ in places] == ["1", "2", "3", ""]
    assert "arm=with_skill_and_search" in places[0][1]
    with pages.client() as client:
        trust = client.get(f"/v1/workspaces/{WORKSPACE}/trust").json()["arms"]
    streaks = re.findall(r'data-label="Streak">([\d,]+)<', card)
    arms = [re.search(r"arm=(\w+)", unescape(href)) for _, href in places[:3]]
    assert [int(streak) for streak in streaks[:3]] == [trust[found[1]]["streak"] for found in arms if found]


def test_days_without_runs_lead_to_those_with_some(pages: Served) -> None:
    """An empty span names the last day that has a run."""
    page = text_of(pages, f"/workspaces/{WORKSPACE}?until=2027-01-01")
    assert f"until={LAST}" in page
    assert "No run was scored" in page


@pytest.mark.parametrize("query", ["days=0", "days=x", "days=" + "9" * 30, "until=yesterday", "cursor=x"])
def test_a_span_that_makes_no_sense_is_explained(pages: Served, query: str) -> None:
    """422 with what is allowed."""
    page = text_of(pages, f"/workspaces?{query}", 422)
    assert "is not" in page or "cursor" in page


def test_an_unknown_workspace_is_a_helpful_page(pages: Served) -> None:
    """404, also for one that the API would show as empty."""
    assert "no workspace" in text_of(pages, "/workspaces/nobody", 404)


def test_the_first_day_of_the_calendar_is_no_trouble(pages: Served) -> None:
    """A span that would begin before the year 1 begins there."""
    text_of(pages, "/workspaces?until=0001-01-01&days=366")
    text_of(pages, f"/workspaces/{WORKSPACE}?until=0001-01-02&days=366")


@pytest.mark.browser
def test_the_plots_are_seen_and_can_be_read_aloud(look: Callable[..., Any]) -> None:
    """Each plot has a size, a name, and its numbers in a table."""
    tab = look()
    tab.goto(ADDRESS)
    for shape in tab.locator("svg[role=img]").all():
        box = shape.bounding_box()
        assert box["width"] > 50
        assert shape.get_attribute("aria-label")
    tab.click("summary >> text=The numbers")
    assert tab.locator("details[open] tbody tr").count() == DAYS
    assert tab.wrongs == []
