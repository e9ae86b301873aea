"""One run: gates, cards, trajectory, diff, stages, files, and everything that may be missing."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.web.pages.world import FILES, STEPS
from tests.web.server import Served

HTML = {"Accept": "text/html"}


def text_of(served: Served, address: str, status: int = 200) -> str:
    """A page's HTML."""
    with served.client() as client:
        page = client.get(address, headers=HTML)
    assert page.status_code == status, page.text[:2000]
    return page.text


def test_the_gates_stand_side_by_side_with_their_disagreement(pages: Served) -> None:
    """Objective FAIL, judge PASS, run PASS, and a sentence that says what it means."""
    page = text_of(pages, "/runs/run_rich")
    found = re.findall(r'<span class="label">(\w+)</span><strong>([A-Z ]+)</strong>', page)
    assert found == [("Objective", "FAIL"), ("Judge", "PASS"), ("Run", "PASS")]
    assert "it violates a hard constraint" in page


def test_the_scorers_card_is_as_described(pages: Served) -> None:
    """A row a scorer with status, type, advisory mark and score; hard failures start open, all others closed."""
    page = text_of(pages, "/runs/run_rich")
    card = page[page.index('id="scorers"') : page.index('id="judge"')]
    rows = re.findall(r'<details class="line" data-scorer="([^"]*)"( open)?>', card)
    assert rows == [("unit tests", ""), ("frozen tests", " open"), ("no new skips", ""), ("shape", "")]
    assert card.count(">advisory<") == 1
    assert "a_plugin_that_is_gone" in card
    assert "OVERALL" in card
    assert "0.33" in card
    assert "2 passed in 0.01s" in card


def test_a_ledger_run_has_no_scorers_card(pages: Served) -> None:
    """It is judged only."""
    page = text_of(pages, "/runs/run_ledger")
    assert 'id="scorers"' not in page
    assert 'id="judge"' in page


def test_the_judge_card_shows_ratings_facts_and_footprint(pages: Served) -> None:
    """Verdict, rating tiles, fact-check matrix, reasoning, model and when it was scored."""
    page = text_of(pages, "/runs/run_rich")
    card = page[page.index('id="judge"') : page.index('id="scorecard"')]
    for word in ("Task completion", "Instruction adherence", "Efficiency", "refuted", "unverified", "supported"):
        assert word in card
    assert "The tests are gone." in card
    assert "scored <time" in card
    assert "canned" in card


def test_the_scorecard_tells_how_each_number_came_about(pages: Served) -> None:
    """Axes, weights, defaults and their reasons add up to the score."""
    page = text_of(pages, "/runs/run_rich")
    card = page[page.index('id="scorecard"') : page.index('id="trajectory"')]
    assert "0 of 1 stages passed at the first attempt" in card
    assert "no baseline yet" in card
    assert card.count(">default<") == 2
    shown = re.search(r"Together ([\d.]+), rounded half up to (\d+)", card)
    assert shown is not None
    assert int(float(shown[1]) + 0.5) == int(shown[2])


def test_a_long_trajectory_comes_in_pages(pages: Served) -> None:
    """100,000 steps: the page stays small, steps are found by number, text and error."""
    page = text_of(pages, f"/runs/run_long?step={STEPS - 30}")
    assert f"{STEPS:,} steps" in page
    assert f'id="step-{STEPS - 1}"' in page
    assert len(page) < 300_000
    found = text_of(pages, "/runs/run_long?q=NEEDLE")
    assert re.findall(r'id="step-(\d+)"', found) == ["8"]
    failed = text_of(pages, "/runs/run_long?only=errors")
    assert re.findall(r'id="step-(\d+)"', failed)[:3] == ["7", "14", "21"]
    assert "no such file" in failed
    assert 'href="/runs/run_long?step=2#step-7">in context' in failed
    with pages.client() as client:
        steps = client.get("/runs/run_long/steps.json?step=500").json()
    assert (steps["total"], steps["from"], steps["steps"][0]["step_id"], len(steps["steps"])) == (STEPS, 500, 500, 100)


@pytest.mark.parametrize("query", ["step=x", "only=999999999", "step=" + "9" * 30])
def test_a_step_that_is_not_there_is_explained(pages: Served, query: str) -> None:
    """The rest of the page stays."""
    page = text_of(pages, f"/runs/run_rich?{query}")
    assert 'class="empty"' in page
    assert 'id="scorers"' in page


def test_findings_stand_at_their_lines(pages: Served) -> None:
    """In both views, below the line that they are about."""
    for view in ("unified", "split"):
        page = text_of(pages, f"/runs/run_rich/diff?view={view}")
        after = page[page.index("a + b") :]
        assert "a plain sum would do" in after[:400]
        gone = page[page.index("an assertion is gone") - 600 : page.index("an assertion is gone")]
        assert "assert" in gone
        assert "A binary file" in page
        assert '<i class="k">def</i>' in page


def test_a_diff_of_very_many_files_is_bounded(pages: Served) -> None:
    """5,000 files: some at a time, others by name."""
    page = text_of(pages, "/runs/run_long/diff")
    assert f"{FILES:,} files changed" in page
    assert len(page) < 600_000
    found = text_of(pages, "/runs/run_long/diff?name=f4711.txt")
    assert found.count('class="file"') == 1
    assert "content 4711" in found


def test_a_very_large_file_comes_in_pieces(pages: Served) -> None:
    """50 MB in one file: the first rows, and the next ones behind a link."""
    page = text_of(pages, "/runs/run_large/diff")
    assert len(page) < 600_000
    onward = re.search(r'data-more="([^"]*)"', page)
    assert onward is not None
    piece = text_of(pages, onward[1].replace("&amp;", "&"))
    assert '<td class="no">600</td>' in piece
    assert len(piece) < 600_000
    assert "is not a number from 0 to 0" in text_of(pages, "/runs/run_large/diff/7", 422)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/runs/run_gone", "The trajectory can&#39;t be shown"),
        ("/runs/run_gone/diff", "The diff can&#39;t be shown"),
        ("/runs/run_gone/files", ">gone<"),
        ("/runs/run_damaged", "the stored trajectory is not JSON"),
        ("/runs/run_damaged/diff", "this is not a patch that git wrote"),
        ("/runs/run_ledger/diff", "A ledger run has no code tree"),
        ("/runs/run_broken", "infrastructure: counted for or against no arm"),
        ("/runs/run_broken", "This agent left no trajectory"),
        ("/runs/run_broken/diff", "No diff was captured"),
        ("/runs/run_broken/stages", "This scenario has no stages"),
        ("/runs/run_broken/files", "This run has no artifacts"),
    ],
)
def test_what_is_missing_is_said(pages: Served, address: str, said: str) -> None:
    """No trajectory, no diff, gone or damaged artifacts: the page stays whole and says so."""
    assert said in text_of(pages, address)


@pytest.mark.parametrize("address", ["/runs/nope", "/runs/nope/diff", "/runs/run_rich/nope", "/nowhere"])
def test_an_unknown_address_is_a_helpful_page(pages: Served, address: str) -> None:
    """404 with a way on; the API keeps answering problem documents."""
    page = text_of(pages, address, 404)
    assert 'href="/runs"' in page
    assert "steelyard runs" in page
    if address == "/runs/nope":
        assert "still be running: runs appear when they have finished" in page
    with pages.client() as client:
        assert client.get(address).headers["content-type"] == "application/problem+json"


def test_an_unknown_artifact_names_those_there_are(pages: Served) -> None:
    """404 with the names."""
    assert "diff, trajectory" in text_of(pages, "/runs/run_rich/artifacts/nope", 404)


def test_the_run_can_be_run_again_as_pasted(pages: Served) -> None:
    """The command quotes what a shell would take apart."""
    page = text_of(pages, "/runs/run_rich/files")
    assert (
        "steelyard run &#39;/suites/it&#39;&#34;&#39;&#34;&#39;s mine.yaml&#39; --task fix-the-sum --arm plain" in page
    )


@pytest.mark.browser
def test_files_of_a_large_diff_load_when_they_are_opened(look: Callable[..., Any]) -> None:
    """Opening a file that was left out brings its rows; more rows of a large file are appended."""
    tab = look()
    tab.goto("/runs/run_long/diff")
    closed = tab.locator("details.file[data-load]").first
    name = closed.get_attribute("id")
    closed.locator("summary").click()
    tab.wait_for_selector(f"#{name} table.code")
    tab.goto("/runs/run_large/diff")
    tab.click("a[data-more]")
    tab.wait_for_selector("table.code >> nth=1")
    assert tab.wrongs == []


@pytest.mark.browser
def test_a_long_trajectory_does_not_fill_the_browser(look: Callable[..., Any]) -> None:
    """Of 100,000 steps the browser holds one page; keys walk the steps and lead to the next page and to errors."""
    from playwright.sync_api import expect

    tab = look()
    tab.goto(f"/runs/run_long?step={STEPS // 2}")
    tab.wait_for_selector("html[data-ready]")
    assert tab.evaluate("document.querySelectorAll('*').length") < 5_000
    tab.keyboard.press("j")
    assert tab.evaluate("document.activeElement.textContent") == str(STEPS // 2)
    tab.keyboard.press("n")
    tab.wait_for_url(f"**step={STEPS // 2 + 100}**")
    tab.click("text=with errors")
    tab.wait_for_selector("#step-7")
    tab.click("#step-14 >> text=in context")
    tab.wait_for_selector("#step-13")
    expect(tab.locator("#step-14")).to_be_in_viewport(timeout=30_000)
    assert tab.wrongs == []


@pytest.mark.browser
def test_the_tabs_work_without_javascript(look: Callable[..., Any]) -> None:
    """Every tab is a link, files of a large diff too, and outputs unfold by themselves."""
    tab = look(java_script_enabled=False)
    tab.goto("/runs/run_long")
    for title in ("Diff", "Stages", "Files & raw", "Agent Trace"):
        tab.click(f".tabs >> text={title}")
        assert tab.locator(".tabs [aria-current=page]").inner_text() == title
    tab.goto("/runs/run_long/diff")
    tab.locator("details.file:not([open]) summary").first.click()
    tab.locator("a >> text=Show this file").first.click()
    assert tab.locator("details.file[open] table.code").count() == 1
