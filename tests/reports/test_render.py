"""Text, Markdown, JSON and HTML of the same comparison."""

import html as entities
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from steelyard.compare.weigh import weigh
from steelyard.domain.comparison import Comparison
from steelyard.errors import InputError
from steelyard.reports.markdown import code, prose
from steelyard.reports.render import FORMATS, render
from steelyard.reports.text import headline
from tests.reports.support import HOSTILE, compared, record, records


@pytest.fixture(scope="module")
def hostile() -> Comparison:
    """Every name that comes from outside is an attack."""
    arms = {"old": f"old{HOSTILE}", "new": f"new{HOSTILE}"}
    found = [
        r.model_copy(update={"arm": arms[r.arm], "task_id": f"{r.task_id}{HOSTILE}", "run_id": f"{r.run_id}{HOSTILE}"})
        for r in records(6, 2, -1)
    ]
    found.append(record(f"lonely{HOSTILE}", arms["new"], 1, 4, run_id=f"x{HOSTILE}"))
    found.append(record("infra", arms["new"], 1, 4, run_id="y", error_class="network"))
    return weigh(found, arms["old"], arms["new"], resamples=200)


@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_input_gives_the_same_bytes(kind: str) -> None:
    """Twice here, from records in another order, and once in another process."""
    comparison = compared()
    first = render(comparison, kind)
    assert render(comparison, kind) == first
    other = weigh(reversed(list(records(6, 5, 1))), "old", "new", resamples=200)
    assert render(other, kind) == first
    script = (
        "import sys; from tests.reports.support import compared; from steelyard.reports.render import render; "
        f"sys.stdout.buffer.write(render(compared(), {kind!r}).encode())"
    )
    root = Path(__file__).parents[2]
    again = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, timeout=240, check=True)
    assert again.stdout.decode() == first


@pytest.mark.parametrize("kind", ["text", "md", "html"])
@pytest.mark.parametrize(("gain", "word"), [(1, "improved"), (0, "neutral"), (-1, "regressed")])
def test_the_verdict_comes_first(kind: str, gain: int, word: str) -> None:
    """Whatever the format, the first thing read is the verdict, and the reason follows."""
    text = render(compared(gain=gain), kind)
    opening = text[text.index("<body>") :] if kind == "html" else text
    assert word in opening[:400].lower()
    for part in ("gain of", "Paired deltas", "gates", "Method"):
        assert part in opening


def test_text_is_plain_unless_colour_is_asked_for() -> None:
    """Colours are for terminals only."""
    comparison = compared(gain=-1)
    assert "\x1b" not in render(comparison, "text")
    assert "\x1b[31mREGRESSED\x1b[0m" in render(comparison, "text", colour=True)


def test_text_is_aligned() -> None:
    """The numbers of a table end in the same column."""
    lines = render(compared(), "text").split("\n")
    place = lines.index("Arms") + 1
    assert len({len(line) for line in lines[place : place + 3]}) == 1


def test_the_headline_is_short() -> None:
    """However many tasks regressed, at most ten are spelled out."""
    text = headline(compared(tasks=40, repeats=1, gain=-1))
    assert text.startswith("new against old: REGRESSED")
    assert "and on 29 more tasks" in text
    assert len(text.split("\n")) == 14


def test_json_is_the_comparison() -> None:
    """Read back, it is the same record."""
    comparison = compared()
    assert Comparison.model_validate_json(render(comparison, "json")) == comparison


def test_terminal_codes_in_names_are_shown_not_sent(hostile: Comparison) -> None:
    """A name can neither colour, nor move the cursor, nor turn the text around."""
    for text in (render(hostile, "text"), headline(hostile)):
        assert not [c for c in text if not c.isprintable() and c != "\n"]


def test_markdown_mentions_nobody_and_holds_no_html_from_outside(hostile: Comparison) -> None:
    """Names are code, prose is escaped: no tag, no mention, no closing reference, no broken table."""
    text = render(hostile, "md")
    outside_code = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<img" not in outside_code
    assert not re.search(r"[@#]\w", outside_code)
    tables = re.findall(r"(?:^\|.*\|\n)+", text + "\n", re.MULTILINE)
    for table in tables:
        bars = {len(re.findall(r"(?<!\\)\|", row)) for row in table.strip().split("\n")}
        assert len(bars) == 1


@pytest.mark.parametrize(("text", "shown"), [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``")])
def test_code_holds_any_name(text: str, shown: str) -> None:
    """The fence is longer than any run of backticks inside."""
    assert code(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a*b", r"a\*b"), ("<b>", "&lt;b&gt;"), ("hi @you", "hi @<!-- -->you"), ("fixes #12", "fixes #<!-- -->12")],
)
def test_prose_stays_prose(text: str, shown: str) -> None:
    """No markup, no mention, no reference."""
    assert prose(text) == shown


class _Page(HTMLParser):
    """Collects tags, addresses and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what could fetch or run something."""
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"src", "href", "xlink:href", "action", "data"}:
                self.addresses.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)


def test_the_page_is_self_contained_and_runs_nothing_from_outside(hostile: Comparison) -> None:
    """No address, no handler, three scripts, all ours; the policy allows only two of them to run."""
    text = render(hostile, "html")
    page = _Page()
    page.feed(text)
    assert all(re.fullmatch(r"#run-\d+", address) for address in page.addresses)
    assert page.handlers == []
    assert page.tags.count("script") == 3
    assert "img" not in page.tags
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe-eval" not in policy[1]
    assert len(re.findall("sha256-", policy[1])) == 2
    specs = re.search(r'id="chart-specs">(.*?)</script>', text, re.DOTALL)
    assert specs is not None
    assert set(json.loads(specs[1])) == {"forest", "tasks"}


def test_the_page_has_charts_without_scripts_and_both_colour_schemes() -> None:
    """Drawings as SVG are in the page; dark and print have their own colours."""
    text = render(compared(), "html")
    assert text.count("<svg") >= 2
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert entities.escape("task-003") in text


def test_a_page_without_numbers_has_no_charts() -> None:
    """Nothing was measured: the page still says so, without scripts."""
    found = [record("t", arm, 1, 0, error_class="network") for arm in ("old", "new")]
    text = render(weigh(found, "old", "new"), "html")
    assert "<script" not in text
    assert "infrastructure reason" in text


def test_an_unknown_format_is_refused() -> None:
    """The allowed ones are named."""
    with pytest.raises(InputError, match="text, json, md, html"):
        render(compared(), "pdf")


def test_without_the_extra_only_html_is_refused() -> None:
    """Where Altair is not installed, the remedy is named; the other formats never load it."""
    script = (
        "import sys; sys.modules['altair'] = None\n"
        "from tests.reports.support import compared\n"
        "from steelyard.reports.render import render\n"
        "from steelyard.errors import InputError\n"
        "for kind in ('text', 'json', 'md'): render(compared(), kind)\n"
        "try: render(compared(), 'html')\n"
        "except InputError as error: print(error)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "pip install 'steelyard[report]'" in done.stdout


def test_regressions_link_to_their_runs() -> None:
    """Within the page without a server, to its pages with one, whatever a run is called."""
    comparison = compared(gain=-1)
    page = render(comparison, "html")
    links = re.findall(r'<a href="#(run-\d+)"><code>([^<]+)</code></a>', page)
    assert len(links) >= 4
    for anchor, run_id in links:
        assert f'<tr id="{anchor}"><td><code>{run_id}</code></td>' in page
    away = render(comparison, "html", link=lambda run_id: f"https://weigh.example/runs/{run_id}")
    run_id = links[0][1]
    assert away.count(f'<a href="https://weigh.example/runs/{run_id}"><code>{run_id}</code></a>') == 2
    assert 'href="#run-' not in away


@pytest.mark.browser
def test_a_browser_draws_the_charts(tmp_path: Path, hostile: Comparison) -> None:
    """In a real browser the policy lets the charts be drawn, and names stay text."""
    file = tmp_path / "report.html"
    file.write_text(render(hostile, "html"), "utf-8")
    chromium = shutil.which("chromium")
    assert chromium is not None
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=60000", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    page = _Page()
    page.feed(done.stdout)
    assert re.findall(r'<figure id="chart-(\w+)"[^>]*class="drawn"', done.stdout) == ["forest", "tasks"]
    assert "img" not in page.tags
