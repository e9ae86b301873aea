"""steelyard compare, used as a person would use it."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from steelyard.cli.demo import SUITE
from tests.cli.shop import Shop, line


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """An empty directory to work in."""
    return Shop(tmp_path)


@dataclass(frozen=True)
class Stored:
    """A store with two experiments of the demo suite: all arms, and the baseline alone."""

    home: Path
    first: str
    second: str


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """The demo suite, really run."""
    shop = Shop(tmp_path_factory.mktemp("stored"))
    words = ("run", str(SUITE), "--sandbox", "local", "--jobs", "2")
    first = shop.json(*words, "--repeats", "2", code=None)
    second = shop.json(*words, "--repeats", "1", "--arm", "baseline", "--task", "slugs", code=None)
    return Stored(shop.root / ".steelyard", first["experiment"], second["experiment"])


KEYS = {
    "baseline",
    "candidate",
    "verdict",
    "promote",
    "net_composite_gain",
    "tasks",
    "regressions",
    "decision",
    "arms",
    "paired",
    "excluded",
    "notes",
}


def test_an_experiment_as_json(shop: Shop, stored: Stored) -> None:
    """The suite's own arms, every field that programs rely on, and the exit code of the verdict."""
    done = shop.run("compare", stored.first, "--json", home=stored.home)
    found = json.loads(done.stdout)
    assert found.keys() >= KEYS
    assert (found["baseline"], found["candidate"]) == ("baseline", "candidate")
    assert done.returncode == {"improved": 0, "neutral": 0, "regressed": 1}[found["verdict"]]
    assert found["promote"] is False
    assert {"task_id", "baseline", "candidate", "delta", "regressions"} <= found["tasks"][0].keys()
    assert found["decision"]["gates"].keys() == {"success_rate", "runtime", "tokens"}
    assert found["arms"]["candidate"]["runs"] == 2 * len(found["tasks"])
    assert {"mean", "median", "ci95", "p"} <= found["paired"]["pass_delta"].keys()
    assert [row["arm"] for row in found["against_baseline"]] == ["candidate", "shortcut"]


def test_a_regression_is_exit_code_one(shop: Shop, stored: Stored) -> None:
    """The arm that games the tests is weighed, found worse, and its runs are named."""
    done = shop.run("compare", stored.first, "--candidate", "shortcut", home=stored.home)
    assert done.returncode == 1
    assert done.stdout.startswith("shortcut against baseline: REGRESSED")
    assert "see: run_" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("name", "opening"), [("a.md", "## ❌ regressed"), ("a.html", "<!doctype html>"), ("a.json", "{")]
)
def test_the_files_ending_says_the_format(shop: Shop, stored: Stored, name: str, opening: str) -> None:
    """The report goes to the file, the headline to the terminal, and nothing else is left there."""
    done = shop.run("compare", stored.first, "--candidate", "shortcut", "-o", name, home=stored.home)
    assert done.returncode == 1, done.stderr
    assert (shop.root / name).read_text("utf-8").startswith(opening)
    assert done.stdout.startswith("shortcut against baseline: REGRESSED")
    assert [path.name for path in shop.root.iterdir()] == [name]


def test_a_server_gives_runs_their_pages(shop: Shop) -> None:
    """In Markdown and on the page; what is no address is refused."""
    file = shop.records("r.jsonl", line("t", "b"), line("t", "a", composite=0.1))
    words = ("compare", "--records", str(file), "--baseline", "b", "--format", "md")
    done = shop.run(*words, "--server", "https://weigh.example/")
    assert "[`t-a-1`](https://weigh.example/runs/t-a-1)" in done.stdout
    assert "an address is expected" in shop.refused(*words, "--server", "weigh.example")


def test_json_and_a_page_at_once(shop: Shop, stored: Stored) -> None:
    """--json is for stdout, -o for the file."""
    found = shop.json("compare", stored.first, "--candidate", "shortcut", "-o", "page.md", code=1, home=stored.home)
    assert found["verdict"] == "regressed"
    assert (shop.root / "page.md").exists()


def test_two_experiments_tell_the_same_arm_apart(shop: Shop, stored: Stored) -> None:
    """A plain name means the first experiment's arm as baseline and the second's as candidate."""
    found = shop.json("compare", stored.first, stored.second, "--baseline", "baseline", code=1, home=stored.home)
    assert found["baseline"] == f"baseline@{stored.first}"
    assert found["candidate"] == f"baseline@{stored.second}"
    assert any("two experiments" in note for note in found["notes"])
    assert {one["kind"] for one in found["regressions"]} >= {"missing_task"}


def test_two_experiments_need_names_when_it_is_not_clear(shop: Shop, stored: Stored) -> None:
    """Which arms to weigh is never guessed."""
    text = shop.refused("compare", stored.first, stored.second, home=stored.home)
    assert "say which arms to weigh" in text
    assert f"baseline@{stored.second}" in text
    assert "give it once" in shop.refused("compare", stored.first, stored.first, home=stored.home)


def test_an_experiment_with_one_arm_has_nothing_to_weigh(shop: Shop, stored: Stored) -> None:
    """The arm that is there is named."""
    text = shop.refused("compare", stored.second, home=stored.home)
    assert "a comparison needs two arms, and there is only baseline" in text


def test_an_arm_that_is_not_there_is_guessed_at(shop: Shop, stored: Stored) -> None:
    """Did you mean."""
    text = shop.refused("compare", stored.first, "--candidate", "candidat", home=stored.home)
    assert "did you mean 'candidate'?" in text


def test_an_arm_against_itself(shop: Shop, stored: Stored) -> None:
    """How often the rule cries wolf, as text and as JSON; the suite's baseline unless an arm is named."""
    found = shop.json("compare", stored.first, "--aa", home=stored.home)
    assert found["arm"] == "baseline"
    assert sum(found["verdicts"].values()) + found["no_verdict"] == found["splits"]
    done = shop.run("compare", stored.first, "--aa", "candidate", home=stored.home)
    assert done.returncode == 0
    assert "candidate split against itself" in done.stdout
    assert "did you mean 'shortcut'?" in shop.refused("compare", stored.first, "--aa", "shortcu", home=stored.home)
    assert "text or json" in shop.refused("compare", stored.first, "--aa", "-o", "a.html", home=stored.home)


def test_records_from_anywhere(shop: Shop) -> None:
    """One file an arm, compared without a store."""
    shop.records("a.jsonl", *(line(f"t{i}", "a") for i in range(6)))
    shop.records("b.jsonl", *(line(f"t{i}", "b", composite=0.95) for i in range(6)))
    found = shop.json("compare", "--records", "a.jsonl", "b.jsonl", "--baseline", "a")
    assert (found["verdict"], found["net_composite_gain"]) == ("improved", 0.3)
    assert not (shop.root / ".steelyard").exists()


def test_no_composites_is_no_verdict_but_a_decision(shop: Shop) -> None:
    """The records of another tool: null, and the decision rule still answers."""
    shop.records("r.jsonl", *(line(f"t{i}", arm, composite=None) for i in range(3) for arm in ("a", "b")))
    found = shop.json("compare", "--records", "r.jsonl", "--baseline", "a")
    assert (found["verdict"], found["decision"]["choice"]) == (None, "prefer b")


def test_bad_lines_are_named_or_skipped_and_counted(shop: Shop) -> None:
    """Strict names each with its line; --skip-bad leaves them out and says how many."""
    shop.records("r.jsonl", line("t", "a"), line("t", "b", duration_seconds=-1), line("t", "b"), line("t", "b"))
    text = shop.refused("compare", "--records", "r.jsonl", "--baseline", "a")
    assert "r.jsonl:2: duration_seconds" in text
    assert "r.jsonl:4" in text
    found = shop.json("compare", "--records", "r.jsonl", "--baseline", "a", "--skip-bad")
    assert found["excluded"] == {"bad_lines": 2}
    assert "2 bad lines were left out (--skip-bad)" in found["notes"]


def test_all_infrastructure_failures_is_insufficient_data(shop: Shop) -> None:
    """Exit code 3: nothing could be measured, and the report says why."""
    shop.records("r.jsonl", *(line("t", arm, error_class="rate_limited") for arm in ("a", "b")))
    done = shop.run("compare", "--records", "r.jsonl", "--baseline", "a")
    assert done.returncode == 3
    assert "insufficient data" in done.stdout
    assert "every one failed for an infrastructure reason" in done.stdout
    assert "rate limited" in done.stdout


def test_no_pair_is_insufficient_data(shop: Shop) -> None:
    """The same task, but never the same repeat."""
    shop.records("r.jsonl", line("t", "a", 1), line("t", "b", 2))
    found = shop.json("compare", "--records", "r.jsonl", "--baseline", "a", code=3)
    assert found["decision"]["choice"] == "insufficient data"
    assert found["paired"]["unpaired_count"] == 2


def test_one_task_and_one_repeat_have_no_interval(shop: Shop) -> None:
    """The answer is given, and so is what it can't say."""
    shop.records("r.jsonl", line("t", "a"), line("t", "b"))
    found = shop.json("compare", "--records", "r.jsonl", "--baseline", "a")
    assert found["verdict"] == "neutral"
    assert found["paired"]["pass_delta"]["ci95"] is None
    assert any("pairs on 1 task only" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("content", "words", "said"),
    [
        ("", [], "no records"),
        (None, [], "no such file"),
        ("{}\n", [], "r.jsonl:1"),
        ("not json\n", [], "r.jsonl:1"),
        ('{"run_id": "x", "repeat": "one"}\n', ["--skip-bad"], "no good one"),
    ],
)
def test_files_that_hold_nothing_are_refused(shop: Shop, content: str | None, words: list[str], said: str) -> None:
    """Empty, missing, or without a good line: one clear answer, exit code 2."""
    if content is not None:
        shop.write("r.jsonl", content)
    assert said in shop.refused("compare", "--records", "r.jsonl", *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say what to compare"),
        (["--aa", "latest"], "put it last"),
        (["a", "--records", "r.jsonl"], "not both"),
        (["a", "b", "c"], "one experiment or two"),
        (["a", "--min-repeats", "0"], "--min-repeats 0"),
        (["a", "--json", "--format", "html"], "add -o FILE"),
        (["a", "-o", "x.pdf"], "no format is called '.pdf'"),
        (["a", "--skip-bad"], "go with --records"),
        (["a"], "there is no store"),
        (["a", "--format", "docx"], "--format"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(shop: Shop, words: list[str], said: str) -> None:
    """What is wrong, and what to do."""
    text = shop.refused("compare", *words)
    assert said in text
    assert text.count("\n") == 1


def test_a_report_that_can_not_be_written_leaves_the_old_one(shop: Shop) -> None:
    """A directory in the way, or a folder that is not there: refused, and nothing is half-written."""
    shop.records("r.jsonl", line("t", "a"), line("t", "b"))
    (shop.root / "dir.md").mkdir()
    words = ("compare", "--records", "r.jsonl", "--baseline", "a", "-o")
    assert "is a directory" in shop.refused(*words, "dir.md")
    assert "can't be written" in shop.refused(*words, "nowhere/a.md")
    shop.write("old.json", "old")
    assert shop.run(*words, "old.json").returncode == 0
    assert json.loads((shop.root / "old.json").read_text())["baseline"] == "a"
    assert sorted(path.name for path in shop.root.iterdir()) == ["dir.md", "old.json", "r.jsonl"]


def test_significant_drops_only(shop: Shop) -> None:
    """--regressions significant: one repeat can't show a drop, so it is in doubt and not hard."""
    shop.records("r.jsonl", line("t", "a"), line("t", "b", composite=0.5))
    words = ("compare", "--records", "r.jsonl", "--baseline", "a")
    assert shop.run(*words).returncode == 1
    found = shop.json(*words, "--regressions", "significant")
    assert [one["kind"] for one in found["regressions"]] == ["not_measurable"]
