"""The comparison page: what it says is what the API says, its links lead to the runs, and its state is its address."""

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.web.pages.test_run import text_of
from tests.web.pages.weighed import TASKS
from tests.web.server import Served

MIXED = "/compare?experiment=exp_mixed"


def section(page: str, name: str) -> str:
    """One card of the page, as text."""
    found = re.search(rf'<section class="card" id="{name}".*?</section>', page, re.DOTALL)
    assert found, name
    return unescape(re.sub(r"<[^>]+>", " ", found[0]))


def test_the_verdict_stands_first_with_its_reason(pages: Served) -> None:
    """Regressed, why in a sentence, the decision, and why it is not to be promoted."""
    page = text_of(pages, MIXED)
    assert re.search(r'<p class="word">regressed</p>\s*<p>3 hard regressions on 1 task: one is enough', page)
    assert "<b>Decision:</b> mixed results" in page
    assert "<b>Promote:</b> no: the verdict is regressed" in page
    gates = re.findall(r'<span class="label">([\w -]+)</span><strong>(\w+)</strong>', page)
    assert gates == [("Success rate", "holds"), ("Median runtime", "fails"), ("Median non-cache tokens", "fails")]


def test_the_page_is_a_view_of_its_json(pages: Served) -> None:
    """The link to the JSON gives the same verdict, tasks in the same order of delta, and spreads of every run."""
    page = text_of(pages, MIXED)
    twin = re.search(r'<link rel="alternate" type="application/json" href="([^"]+)"', page)
    assert twin
    with pages.client() as client:
        found = client.get(unescape(twin[1])).json()
    assert (found["verdict"], found["baseline"], found["candidate"]) == ("regressed", "plain", "with_skill")
    shown = re.findall(r"data-row>([\w-]+)</a></td><td class=\"wide\">", page)
    assert shown == [row["task_id"] for row in sorted(found["tasks"], key=lambda row: row["delta"])]
    assert shown[0] == "retries"
    costs = {one["arm"]: one for one in found["spreads"] if one["measure"] == "cost_usd"}
    assert {arm: len(one["values"]) for arm, one in costs.items()} == {"plain": 24, "with_skill": 23, "terse": 21}
    assert len(re.findall(r'<circle class="pip', page)) == 3 * (24 + 23 + 21)


def test_regressions_exclusions_and_method_are_told(pages: Served) -> None:
    """Each in its own card; regressions come before the tasks."""
    page = text_of(pages, MIXED)
    assert page.index('id="regressions"') < page.index('id="tasks"') < page.index('id="deltas"')
    assert "hard retries : objective checks passed 1.67 → 1" in re.sub(r"\s+", " ", section(page, "regressions"))
    excluded = re.sub(r"\s+", " ", section(page, "exclusions"))
    assert "with_skill rate limited 1" in excluded
    assert "time-zones plain 3" in excluded
    assert "95 % BCa bootstrap" in section(page, "method")
    assert "terse" in section(page, "others")


def test_a_task_links_to_its_runs(pages: Served) -> None:
    """Every link of a task's row leads to a run of that task, or to the list of them."""
    page = text_of(pages, MIXED)
    row = re.search(
        r"<tr><td class=\"name\" data-label=\"Task\"><a href=\"([^\"]+)\" data-row>retries</a>.*?</tr>", page, re.DOTALL
    )
    assert row
    links = re.findall(r'<a href="(/runs/[^"]+)"', row[0])
    assert len(links) == 6
    with pages.client() as client:
        found = [client.get(f"/v1{link}").json() for link in links]
        listed = client.get(unescape(row[1]), headers={"Accept": "text/html"}).text
    assert {(run["task_id"], run["experiment"]) for run in found} == {("retries", "exp_mixed")}
    assert [run["arm"] for run in found] == ["plain"] * 3 + ["with_skill"] * 3
    assert all(run["run_id"] in listed for run in found)


def test_what_may_be_promoted_shows_its_plan(pages: Served) -> None:
    """Branch, title, commit, body and command, the same as the API gives; of two experiments there is none."""
    page = text_of(pages, "/compare?experiment=exp_gain")
    with pages.client() as client:
        plan = client.get("/v1/experiments/exp_gain/promotion").json()
    assert plan["promote"] is True
    assert plan["reasons"] == []
    card = section(page, "promotion")
    assert "may be promoted" in card
    for part in ("branch", "title", "commit_message", "command"):
        assert plan[part].strip() in card
    assert '<p class="word">improved</p>' in page
    both = text_of(pages, "/compare?experiment=exp_gain&experiment=exp_mixed&baseline=before&candidate=with_skill")
    assert "needs both arms in one experiment" in section(both, "promotion")


def test_arms_of_two_experiments_are_weighed_together(pages: Served) -> None:
    """An arm that both have is followed by its experiment; the twin says the same; nothing is guessed."""
    unclear = text_of(pages, "/compare?experiment=exp_mixed&experiment=exp_gain")
    assert "choose which arm is the baseline" in unclear
    assert '<option value="before">before</option>' in unclear
    page = text_of(
        pages, "/compare?experiment=exp_apart&experiment=exp_part&baseline=first@exp_apart&candidate=second@exp_part"
    )
    assert "did not run side by side" in section(page, "notes")
    query = urlencode({"with": "exp_part", "baseline": "first@exp_apart", "candidate": "second@exp_part"})
    with pages.client() as client:
        found = client.get(f"/v1/experiments/exp_apart/comparison?{query}").json()
    assert (found["baseline"], found["candidate"]) == ("first@exp_apart", "second@exp_part")


def test_chosen_arms_are_the_only_ones(pages: Served) -> None:
    """With two arms chosen the third is not looked at, so p-values are not adjusted for it."""
    page = text_of(pages, f"{MIXED}&arm=plain&arm=terse&candidate=terse&baseline=plain")
    assert 'id="others"' not in page
    assert '<p class="word">regressed</p>' in page


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("experiment=nope", 404, "has no finished runs"),
        ("experiment=exp_planned", 404, "has no finished runs"),
        ("experiment=exp_lonely", 200, "a comparison needs two arms with runs; there is only solo"),
        ("experiment=exp_apart", 200, "No run of one arm has a partner"),
        ("experiment=exp_mixed&baseline=plane", 422, "no arm is called"),
        ("experiment=exp_mixed&baseline=plain&candidate=plain", 422, "choose two different arms"),
        ("experiment=exp_mixed&candidate=plain", 200, "would be weighed against itself"),
        ("experiment=exp_mixed&arm=terse&baseline=plain", 422, "not among the arms that were chosen"),
        ("experiment=exp_mixed&min_repeats=0", 422, "is not a number from 1 to 10000"),
        ("&".join(f"experiment=e{n}" for n in range(9)), 422, "at most 8 experiments"),
    ],
)
def test_what_can_not_be_weighed_is_explained(pages: Served, query: str, status: int, said: str) -> None:
    """Unknown ids, one arm only, no pair, and choices that make no sense: each says what is wrong."""
    assert said in unescape(text_of(pages, f"/compare?{query}", status))


def test_an_experiment_in_progress_is_weighed_as_far_as_it_is(pages: Served) -> None:
    """Half of the runs are there: a comparison of those, and the page of the experiment says what is missing."""
    page = text_of(pages, "/compare?experiment=exp_part")
    assert re.search(r"1 pair on 1 task", page)


@pytest.mark.browser
def test_arms_are_chosen_on_the_page(look: Callable[..., Any]) -> None:
    """From the list of experiments to a verdict by clicks alone; the address then holds the whole choice."""
    tab = look()
    tab.goto("/compare")
    tab.check('input[name="experiment"][value="exp_mixed"]')
    tab.click("button.primary")
    tab.wait_for_selector(".verdict")
    assert "exp_mixed" in tab.url
    tab.select_option('select[name="candidate"]', "terse")
    tab.click("button.primary")
    tab.wait_for_url("**candidate=terse**")
    heading = tab.inner_text("h1")
    assert heading == "terse weighed against plain"
    again = look()
    again.goto(tab.url)
    assert again.inner_text("h1") == heading
    tab.click("text=Swap")
    tab.wait_for_selector("text=plain weighed against terse")
    assert tab.wrongs == []


@pytest.mark.browser
def test_a_bar_is_as_long_as_its_delta(look: Callable[..., Any]) -> None:
    """Measured in the browser: lengths are in the ratio of the deltas, losses left of the middle, gains right."""
    tab = look()
    tab.goto(MIXED)
    found = tab.evaluate(
        """() => [...document.querySelectorAll('#tasks tbody tr')].map(row => {
        const zero = row.querySelector('.origin').getBoundingClientRect();
        const bar = row.querySelector('rect').getBoundingClientRect();
        return {delta: row.querySelector('.bare').textContent, width: bar.width, left: bar.left < zero.left - 2};
        })"""
    )
    assert len(found) == len(TASKS)
    deltas = [float(one["delta"].replace("−", "-")) for one in found]
    for delta, one in zip(deltas, found, strict=True):
        assert one["left"] == (delta < 0)
        assert one["width"] / found[0]["width"] == pytest.approx(abs(delta / deltas[0]), abs=0.02)


@pytest.mark.browser
def test_tasks_are_walked_by_keys(look: Callable[..., Any]) -> None:
    """`j` goes to the first task, Enter opens its runs."""
    tab = look()
    tab.goto(MIXED)
    tab.wait_for_selector("html[data-ready]")
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/runs?experiment=exp_mixed&task=retries")


def test_a_comparison_is_not_weighed_twice(pages: Served) -> None:
    """The same bytes again, and after another judgement of a run new ones."""
    with pages.client() as client:
        first, again = (client.get("/v1/experiments/exp_part/comparison").content for _ in range(2))
    assert first == again
    assert json.loads(first)["verdict"] is not None
