"""What an agent wrote is text: nothing of it runs, moves, hides or fills the page, in a real browser."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.web.pages.world import HOSTILE

pytestmark = pytest.mark.browser
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
ADDRESSES = [
    "/runs?workspace=odd&cols=run,task,arm,status,agent,model,tags,experiment,failure_mode",
    "/runs/run_hostile",
    "/runs/run_hostile?only=0",
    "/runs/run_hostile?only=1",
    "/runs/run_hostile/diff",
    "/runs/run_hostile/diff?view=split",
    "/runs/run_hostile/diff/0",
    "/runs/run_hostile/stages",
    "/runs/run_hostile/files",
    f"/runs/{quote(chr(39).join(['run_', '<b>' + chr(34) + '&?#']), safe='')}",
    "/workspaces?until=2026-01-28",
    "/workspaces/watched?until=2026-01-28",
    "/scenarios?workspace=odd",
    "/scenarios/hostile?workspace=odd",
    "/tasks/hostile?workspace=odd",
    f"/scenarios/{quote(HOSTILE[:150], safe='')}",
    f"/new-scenario?workspace={quote(HOSTILE[:150])}",
    f"/workspaces/{quote(HOSTILE[:150], safe='')}",
    f"/workspaces?until={quote(HOSTILE[:150])}&days={quote(HOSTILE[:50])}",
    f"/runs?q={quote(HOSTILE[:150])}&task={quote(HOSTILE[:150])}",
    f"/runs?tier={quote(HOSTILE[:150])}&since={quote(HOSTILE[:50])}&cols={quote(HOSTILE[:50])}",
    f"/runs/{quote(HOSTILE[:150], safe='')}",
    f"/{quote(HOSTILE[:150], safe='')}",
    "/experiments",
    "/experiments/exp_hostile",
    "/compare?experiment=exp_hostile",
    f"/compare?experiment=exp_hostile&baseline={quote(HOSTILE[:150])}&candidate={quote(HOSTILE[:140])}",
    f"/compare?experiment={quote(HOSTILE[:150])}&min_repeats={quote(HOSTILE[:50])}",
    f"/experiments/{quote(HOSTILE[:150], safe='')}",
    f"/sign-in?next={quote('javascript:window.pwned=1')}",
]


@pytest.mark.parametrize("address", ADDRESSES, ids=range(len(ADDRESSES)))
def test_nothing_that_an_agent_wrote_does_anything(look: Callable[..., Any], address: str) -> None:
    """No script, dialog or policy violation; no element, link or hidden character of the agent's making."""
    tab = look()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    answer = tab.goto(address)
    assert answer is not None
    assert answer.status in (200, 404, 422)
    if "/diff/0" not in address:
        tab.wait_for_selector("html[data-ready]")
    for closed in tab.query_selector_all("details:not([open]) > summary"):
        closed.click()

    found = tab.evaluate(
        """() => ({
        pwned: window.pwned,
        made: document.querySelectorAll('script:not([src]), iframe, img, object, embed, [onload], [onerror]').length,
        links: [...document.querySelectorAll('a[href], form[action]')].map(a => new URL(a.href || a.action).protocol),
        text: document.documentElement.textContent,
        })"""
    )

    assert found["pwned"] is None
    assert found["made"] == 0
    assert set(found["links"]) <= {"http:"}
    assert HIDDEN.search(found["text"]) is None
    assert tab.wrongs == []
    assert all(url.startswith(tab.url.split("/")[0]) and "evil" not in url for url in asked)
    assert len(answer.body()) < 1_500_000


def test_what_is_typed_into_a_form_comes_back_as_text(look: Callable[..., Any]) -> None:
    """The editor, sent with mistakes and with a preview, shows what was typed and runs nothing of it."""
    tab = look()
    tab.goto("/new-scenario")
    tab.wait_for_selector("html[data-ready]")
    for field in ("name", "workspace", "r1.f.name", "r1.f.command", "s.f.image", "task_id", "tags"):
        tab.fill(f'[name="{field}"]', HOSTILE)
    for field in ("prompt", "s.f.setup", "s.y.stages", "yaml"):
        tab.fill(f'textarea[name="{field}"]', HOSTILE)
    for button in ("preview", "yaml", "save", "freeze"):
        tab.click(f'button[value="{button}"]:not(.unseen)')
        tab.wait_for_selector("[role=alert]")
        tab.wait_for_selector("html[data-ready]")
        assert tab.evaluate("window.pwned") is None
        assert tab.locator("main script, main iframe, main img, main [onload], main [onerror]").count() == 0
        assert tab.input_value('[name="r1.f.command"]') == HOSTILE
    assert tab.wrongs == []


def test_hidden_characters_are_shown_as_escapes(look: Callable[..., Any]) -> None:
    """Terminal codes and marks that turn text around can be read; template syntax is not computed."""
    tab = look()
    tab.goto("/runs/run_hostile")
    text = tab.inner_text("main")
    assert r"\x1b[31mred" in text
    assert r"\u202egnp.exe" in text
    assert "{{7*7}}" in text
    assert re.search(r"9,9\d\d,\d\d\d more characters", text)


def test_an_artifact_is_a_download_and_never_a_page(look: Callable[..., Any], pages: Any) -> None:
    """A stored file of HTML is sent as bytes to keep."""
    with pages.client() as client:
        answer = client.get("/runs/run_hostile/artifacts/diff")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_policy_allows_no_inline_script_and_no_other_site(pages: Any) -> None:
    """Every page, the ones for mistakes too, carries the strict policy."""
    with pages.client() as client:
        for address in (
            "/runs",
            "/runs/run_rich",
            "/runs/nope",
            "/nope",
            "/sign-in",
            "/workspaces",
            "/scenarios",
            "/tokens",
            "/compare",
            "/experiments",
        ):
            policy = client.get(address, headers={"Accept": "text/html"}).headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "http" not in policy
