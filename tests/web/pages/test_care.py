"""Care: accessible in light and dark, usable by keyboard and on a telephone, times in the viewer's zone."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.browser
PAGES = [
    "/runs?workspace=demo",
    "/runs?workspace=odd&tier=Gold&sort=cost",
    "/runs?workspace=nobody",
    "/runs?tier=Tin",
    "/runs?disagree=1",
    "/runs/run_rich",
    "/runs/run_rich/diff",
    "/runs/run_rich/diff?view=split",
    "/runs/run_rich/stages",
    "/runs/run_rich/files",
    "/runs/run_broken",
    "/runs/nope",
    "/workspaces?until=2026-01-28",
    "/workspaces/watched?until=2026-01-28",
    "/workspaces/watched?until=2025-01-28",
    "/scenarios",
    "/scenarios/calc-fix?workspace=odd",
    "/scenarios/hostile?workspace=odd",
    "/new-scenario",
    "/tasks/fix-the-sum?workspace=odd",
    "/tokens",
    "/sign-in",
    "/experiments",
    "/experiments/exp_mixed",
    "/experiments/exp_planned",
    "/compare",
    "/compare?experiment=exp_mixed",
    "/compare?experiment=exp_gain",
    "/compare?experiment=exp_lonely",
    "/compare?experiment=exp_mixed&baseline=nobody",
]
HOSTILE = ["/compare?experiment=exp_hostile", "/experiments/exp_hostile"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_violation(look: Callable[..., Any], scheme: str) -> None:
    """Every page passes axe-core's rules, contrast among them, with everything unfolded."""
    from axe_playwright_python.sync_playwright import Axe

    tab = look(color_scheme=scheme)
    axe = Axe()
    found: list[str] = []
    for address in PAGES:
        tab.goto(address)
        tab.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        for violation in axe.run(tab).response["violations"]:
            if violation["impact"] in ("serious", "critical"):
                nodes = [node["html"][:200] for node in violation["nodes"][:3]]
                found.append(f"{address} {violation['id']}: {nodes}")
    assert found == []
    assert tab.wrongs == []


def test_nothing_is_wider_than_a_telephone(look: Callable[..., Any]) -> None:
    """At 375 px no page scrolls sideways."""
    tab = look(viewport={"width": 375, "height": 700})
    wide = []
    for address in [*PAGES, "/runs/run_hostile", "/runs/run_hostile/diff", "/runs?workspace=odd", *HOSTILE]:
        tab.goto(address)
        if tab.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(address)
    assert wide == []


def test_the_list_is_walked_by_keys(look: Callable[..., Any]) -> None:
    """`/` searches, `j` and `k` move, Enter opens, `?` shows the keys, and typing is left alone."""
    tab = look()
    tab.goto("/runs?workspace=odd")
    tab.wait_for_selector("html[data-ready]")
    rows = tab.locator("[data-row]")
    names = [rows.nth(n).get_attribute("href") for n in range(3)]
    focused = "document.activeElement.getAttribute('href')"
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    assert tab.evaluate(focused) == names[2]
    tab.keyboard.press("k")
    assert tab.evaluate(focused) == names[1]
    tab.keyboard.press("?")
    assert tab.locator("dialog[open]").count() == 1
    tab.keyboard.press("Escape")
    assert tab.locator("dialog[open]").count() == 0
    tab.keyboard.press("/")
    tab.keyboard.type("jk/?")
    assert tab.input_value("[data-search]") == "jk/?"
    tab.keyboard.press("Escape")
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"**{names[0]}")


@pytest.mark.parametrize("address", ["/runs?workspace=odd", "/new-scenario", "/tokens", "/runs/run_rich"])
def test_focus_can_be_seen(look: Callable[..., Any], address: str) -> None:
    """Whatever the Tab key reaches has an outline."""
    tab = look()
    tab.goto(address)
    outline = "(e => e === document.body ? 'the end' : getComputedStyle(e).outlineStyle)(document.activeElement)"
    for _ in range(20):
        tab.keyboard.press("Tab")
        assert tab.evaluate(outline) != "none"


def test_times_are_in_the_viewers_zone(look: Callable[..., Any]) -> None:
    """The same instant, two zones; the machine-readable time stays."""
    shown = {}
    for zone in ("UTC", "Asia/Tokyo"):
        tab = look(timezone_id=zone)
        tab.goto("/runs/run_rich")
        tab.wait_for_selector("html[data-ready]")
        shown[zone] = tab.locator(".facts time").inner_text()
        assert tab.locator(".facts time").get_attribute("datetime") == "2026-01-01T00:00:10+00:00"
        assert zone in tab.inner_text("footer")
    assert shown == {"UTC": "2026-01-01 00:00", "Asia/Tokyo": "2026-01-01 09:00"}


def test_nothing_moves_while_the_page_loads(look: Callable[..., Any]) -> None:
    """The browser's own measure of layout shift is as good as zero."""
    tab = look()
    tab.add_init_script(
        "window.shift = 0;"
        "new PerformanceObserver(list => { for (const each of list.getEntries()) window.shift += each.value; })"
        ".observe({type: 'layout-shift', buffered: true});"
    )
    for address in PAGES:
        tab.goto(address, wait_until="networkidle")
        assert tab.evaluate("window.shift") < 0.02


def test_paper_gets_what_is_read_and_nothing_to_press(look: Callable[..., Any]) -> None:
    """Printed, navigation and forms are gone, outputs are whole, and the paper is white also for who likes it dark."""
    tab = look(color_scheme="dark")
    tab.emulate_media(media="print", color_scheme="dark")
    for address in ("/runs?workspace=odd", "/runs/run_rich", "/workspaces/watched?until=2026-01-28"):
        tab.goto(address)
        assert not tab.locator(".top nav").is_visible()
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    tab.goto("/runs/run_rich")
    assert tab.locator("#scorers").is_visible()
    assert tab.evaluate("getComputedStyle(document.querySelector('.output')).maxHeight") == "none"


def test_every_page_is_reached_by_links(look: Callable[..., Any]) -> None:
    """The navigation leads to every kind of page, each of which says where it is."""
    tab = look()
    tab.goto("/")
    for title in tab.locator(".top nav a").all_inner_texts():
        tab.click(f".top nav >> text={title}")
        tab.wait_for_selector(f".top nav a[aria-current=page] >> text={title}")
        assert tab.locator("h1").count() == 1
    assert tab.wrongs == []
