"""`steelyard view`: the same pages as a folder, read from disk and from any web host, without a server of ours."""

import functools
import http.server
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from steelyard.web.still.places import Places, relinked
from tests.web.pages.test_hostile import HIDDEN
from tests.web.server import DEADLINE_S, STEELYARD, Served, environment


def view(served: Served, *words: str) -> "subprocess.CompletedProcess[str]":
    """The command on the pages' store."""
    return subprocess.run(
        [*STEELYARD, "view", *words],
        env=environment(served.home),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S * 2,
    )


@pytest.fixture(scope="module")
def folder(pages: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mixed experiment with its newest 20 runs."""
    made = tmp_path_factory.mktemp("view") / "mixed"
    ran = view(pages, "exp_mixed", "-o", str(made), "--max-runs", "20", "--json")
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert (said["experiment"], said["runs"], said["runs_left_out"]) == ("exp_mixed", 20, 49)
    assert said["files"] == sum(1 for path in made.rglob("*") if path.is_file()) - 1  # its own mark is not counted
    return made


@pytest.fixture(scope="module")
def hostile(pages: Served, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The pages of what hostile agents wrote."""
    made = tmp_path_factory.mktemp("hostile")
    for name in ("exp_odd", "exp_hostile"):
        ran = view(pages, name, "-o", str(made / name), "--max-runs", "2")
        assert ran.returncode == 0, ran.stderr
    return sorted(made.rglob("*.html"))


def test_every_link_leads_to_a_file_beside_it(folder: Path) -> None:
    """No address of a server, no form, no link that leads out of the folder or nowhere."""
    pages = sorted(folder.rglob("*.html"))
    assert len(pages) > 60
    broken = []
    for page in pages:
        text = page.read_text()
        assert '<form method="get"' not in text
        for href in re.findall(r'\s(?:href|src)="([^"]*)"', text):
            target = unquote(unescape(href).partition("#")[0])
            there = (page.parent / target).resolve() if target else page
            if not there.is_file() or not there.is_relative_to(folder.resolve()):
                broken.append(f"{page.relative_to(folder)}: {href}")
    assert broken == []


def test_the_folder_has_the_experiment_the_comparison_and_each_run(folder: Path) -> None:
    """Lists, tabs, comparisons of every arm, and the JSON of each."""
    index = (folder / "index.html").read_text()
    assert "68 of 72" in re.sub(r"<[^>]+>", "", index)
    assert '<p class="word">regressed</p>' in (folder / "compare.html").read_text()
    assert json.loads((folder / "comparison.json").read_text())["verdict"] == "regressed"
    assert "terse <span" in (folder / "compare-2.html").read_text()
    runs = sorted((folder / "runs").iterdir())
    assert len(runs) == 20
    for run in runs:
        assert {"index.html", "diff.html", "stages.html", "files.html", "run.json"} <= {p.name for p in run.iterdir()}
        assert json.loads((run / "run.json").read_text())["run_id"] == run.name


@pytest.mark.browser
def test_it_opens_from_disk(folder: Path, chromium: Any) -> None:
    """By file:// alone: from the experiment to a run and its tabs, to the comparison and to a task's runs."""
    context = chromium.new_context(offline=True)
    tab = context.new_page()
    wrongs: list[str] = []
    asked: list[str] = []
    tab.on("pageerror", lambda error: wrongs.append(str(error)))
    tab.on("console", lambda said: wrongs.append(said.text) if said.type == "error" else None)
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((folder / "index.html").as_uri())
    tab.wait_for_selector("html[data-ready]")
    assert "As of" in tab.inner_text("footer")
    tab.locator("[data-row]").first.click()
    for title in ("Diff", "Stages", "Files & raw", "Agent Trace"):
        tab.click(f"nav.tabs >> text={title}")
        assert tab.inner_text("nav.tabs [aria-current]") == title
    tab.click("nav >> text=Compare")
    assert tab.inner_text(".verdict .word") == "Regressed"
    tab.locator("#tasks [data-row]").first.click()
    assert tab.locator("table[data-rows] tbody tr").count() == 9
    assert wrongs == []
    assert all(address.startswith("file://") for address in asked)
    context.close()


@pytest.fixture
def host(folder: Path) -> Iterator[str]:
    """A plain web host that has the folder somewhere below its root."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_words: Any) -> None:
            """Says nothing."""

    handler = functools.partial(Quiet, directory=str(folder.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/{folder.name}"
        server.shutdown()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_on_any_web_host(host: str, chromium: Any, scheme: str) -> None:
    """Below any path; axe finds nothing serious; nothing scrolls sideways at 375 px."""
    from axe_playwright_python.sync_playwright import Axe

    context = chromium.new_context(color_scheme=scheme, viewport={"width": 375, "height": 700})
    tab = context.new_page()
    wrongs: list[str] = []
    tab.on("console", lambda said: wrongs.append(said.text) if said.type == "error" else None)
    for name in ("index.html", "compare.html", "runs.html"):
        tab.goto(f"{host}/{name}")
        tab.wait_for_selector("html[data-ready]")
        assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        found = [one for one in Axe().run(tab).response["violations"] if one["impact"] in ("serious", "critical")]
        assert [one["id"] for one in found] == []
    tab.locator("[data-row]").first.click()
    tab.wait_for_selector(".gates")
    assert wrongs == []
    context.close()


@pytest.mark.browser
def test_nothing_that_an_agent_wrote_runs_in_a_file(hostile: list[Path], chromium: Any) -> None:
    """From disk, where no server sends headers: no script, no dialog, no request, no hidden character."""
    assert any(path.parent.name == "run_hostile" for path in hostile)
    context = chromium.new_context()
    tab = context.new_page()
    wrongs: list[str] = []
    tab.on("pageerror", lambda error: wrongs.append(str(error)))
    tab.on("console", lambda said: wrongs.append(said.text) if said.type == "error" else None)
    tab.on("dialog", lambda dialog: wrongs.append(dialog.message))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    for path in hostile:
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready]")
        assert tab.evaluate("window.pwned") is None
        made = "document.querySelectorAll('script:not([src]), iframe, img, object, embed, [onload], [onerror]').length"
        assert tab.evaluate(made) == 0
        assert HIDDEN.search(tab.evaluate("document.documentElement.textContent")) is None
    assert wrongs == []
    assert all(address.startswith("file://") for address in asked)
    context.close()


def test_what_others_put_into_a_folder_is_kept(pages: Served, tmp_path: Path) -> None:
    """A foreign folder is refused, forced it keeps its files; ours is written anew without what is gone."""
    target = tmp_path / "mine"
    target.mkdir()
    (target / "thesis.txt").write_text("years of work")
    refused = view(pages, "exp_lonely", "-o", str(target))
    assert refused.returncode == 2
    assert "were not written by this command; choose another, or --force" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert [path.name for path in target.iterdir()] == ["thesis.txt"]
    assert view(pages, "exp_lonely", "-o", str(target), "--force").returncode == 0
    assert (target / "thesis.txt").read_text() == "years of work"
    assert (target / "runs").is_dir()
    first = {path.name for path in (target / "runs").iterdir() if any(path.iterdir())}
    again = view(pages, "exp_part", "-o", str(target))
    assert again.returncode == 0, again.stderr
    second = {path.name for path in (target / "runs").iterdir() if any(path.iterdir())}
    assert first.isdisjoint(second)
    assert (target / "thesis.txt").exists()


def test_an_odd_id_has_its_pages_too(pages: Served, tmp_path: Path) -> None:
    """A slash and a question mark in the experiment's id."""
    ran = view(pages, "exp/with a slash?", "-o", str(tmp_path / "odd"))
    assert ran.returncode == 0, ran.stderr
    assert "exp/with a slash?" in (tmp_path / "odd" / "index.html").read_text()
    assert (tmp_path / "odd" / "compare.html").is_file()
    assert len(list((tmp_path / "odd" / "runs").iterdir())) == 2


def test_a_link_is_never_written_through(pages: Served, tmp_path: Path) -> None:
    """Neither the folder nor a way inside it may be a symbolic link to somewhere else."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(elsewhere)
    assert view(pages, "exp_lonely", "-o", str(tmp_path / "link")).returncode == 2
    target = tmp_path / "target"
    target.mkdir()
    (target / "runs").symlink_to(elsewhere)
    refused = view(pages, "exp_lonely", "-o", str(target), "--force")
    assert refused.returncode == 2
    assert "symbolic link" in refused.stderr
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nope",), "no experiment 'nope' is stored"),
        (("exp_lonely", "--max-runs", "0"), "--max-runs 0: allowed: 1 to 100000"),
        (("exp_lonely", "-o", "/proc/nowhere/x"), "-o /proc/nowhere/x"),
    ],
)
def test_mistakes_are_one_line(pages: Served, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """Unknown experiments, wrong numbers, folders that can't be."""
    ran = view(pages, *words, *(() if "-o" in words else ("-o", str(tmp_path / "out"))))
    assert ran.returncode == 2
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "", ".hidden", "a/b\\c", "x" * 300, "Ünï", "con\x00"])
def test_no_name_of_a_run_leads_out(name: str) -> None:
    """Whatever a run is called, its folder is below `runs`, and no two share one."""
    places = Places("e", [name, "run_A", "run_a"])
    assert len({folder.casefold() for folder in places.folders.values()}) == 3
    for folder in places.folders.values():
        assert re.fullmatch(r"runs/[A-Za-z0-9_-][A-Za-z0-9._-]*", folder)


def test_a_link_to_what_is_not_there_is_none() -> None:
    """It keeps its text; links that are there become relative, with their fragment."""
    places = Places("e", ["r"])
    page = (
        b'<a href="/runs/r?step=100#trajectory">x</a><a class="b" href="/tokens">y</a><link href="/static/app.css?v=1">'
    )
    made = relinked(page, "runs/r/index.html", places.of)
    assert made == b'<a href="step-100.html#trajectory">x</a><a class="b">y</a><link href="../../static/app.css">'
