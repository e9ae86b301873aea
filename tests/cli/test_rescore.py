"""steelyard rescore, on runs that were really run."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.e2e.conftest import Shop
from tests.store.home import fill, steelyard

SUITE = """
scenarios:
  fix:
    seed: {directory: seed}
    setup: ["mkdir -p made && echo made > made/made.txt"]
    limits: {timeout_s: 120}
    scorers:
      - {name: check, type: command, command: "grep -q right code.txt && test ! -e old.txt && test -e made/made.txt"}
      - {name: small, type: max_files_changed, limit: 3}
tasks:
  - {id: one, scenario: fix, prompt: "make it right"}
arms:
  before: {agent: command, command: "echo run >> COUNT; echo left > code.txt"}
  after: {agent: command, command: "echo run >> COUNT; echo right > code.txt; rm old.txt; printf '\\\\0' > bin"}
compare: {baseline: before, candidate: after}
repeats: 2
"""
OTHER = '- {name: check, type: command, command: "grep -q left code.txt"}\n'


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A directory with one experiment: two arms, two repeats."""
    root = tmp_path / "shop"
    root.mkdir()
    made = Shop(root)
    made.write("seed/code.txt", "wrong\n")
    made.write("seed/old.txt", "old\n")
    made.write("suite.yaml", SUITE.replace("COUNT", str(root / "count")))
    made.write("other.yaml", OTHER)
    made.json("run", "suite.yaml", "--sandbox", "local", "--jobs", "1")
    return made


def rows(shop: Shop, table: str) -> list[tuple[object, ...]]:
    """All rows of a table, read past the program."""
    with sqlite3.connect(shop.root / ".steelyard" / "steelyard.db") as database:
        return list(database.execute(f"SELECT * FROM {table} ORDER BY 1, 2"))


def test_the_same_scorers_say_the_same_without_the_agent(shop: Shop) -> None:
    """Deleted, new and binary files are put back exactly; rows are added, none changes, and no agent runs."""
    scores, calls = rows(shop, "agent_run_scores"), (shop.root / "count").read_text()

    found = shop.json("rescore", "latest", "--sandbox", "local")

    one = found["experiments"][0]
    assert (one["graded"], one["skipped"], one["changed"], one["flips"]) == (4, [], [], [])
    assert one["verdict"] == {"before": "improved", "after": "improved"}
    assert (shop.root / "count").read_text() == calls
    now = rows(shop, "agent_run_scores")
    assert len(now) == 2 * len(scores)
    assert set(scores) <= set(now)
    assert len(rows(shop, "gradings")) == 4


def test_other_scorers_flip_the_verdict_and_a_dry_run_keeps_nothing(shop: Shop) -> None:
    """Each change is listed, the verdict and why it flips; exit code 1; the newest gradings count from then on."""
    kept = [rows(shop, table) for table in ("agent_run_scores", "gradings", "runs")]

    dry = shop.steelyard("rescore", "latest", "--scorers", "other.yaml", "--dry-run", "--sandbox", "local")

    assert dry.returncode == 1, dry.stderr
    assert "FLIPS: verdict improved → regressed: one: objective checks passed fell from 1 to 0" in dry.stdout
    assert [rows(shop, table) for table in ("agent_run_scores", "gradings", "runs")] == kept

    done = shop.steelyard("rescore", "--all", "--scorers", "other.yaml", "--sandbox", "local", "--json")

    assert done.returncode == 1, done.stderr
    one = json.loads(done.stdout)["experiments"][0]
    changed = {(c["arm"], c["scorer"], c["before"], c["after"]) for c in one["changed"]}
    assert changed >= {("after", "check", "PASS", "FAIL"), ("before", "check", "FAIL", "PASS")}
    assert ("after", "small", "PASS", None) in changed
    assert one["verdict"] == {"before": "improved", "after": "regressed"}
    assert shop.json("compare", "latest", code=1)["verdict"] == "regressed"
    shown = shop.json("show", "latest")
    assert len(shown["gradings"]) == 1
    assert {score["version"] for score in shown["scorecards"]} == {1, 2}


def test_a_seed_that_changed_is_told_and_its_runs_are_skipped(shop: Shop) -> None:
    """Nothing is guessed: exit code 3 when no run could be graded, and nothing is stored."""
    shop.write("seed/code.txt", "another start\n")

    done = shop.steelyard("rescore", "latest", "--sandbox", "local")

    assert done.returncode == 3
    assert "skipped 4: the tree before the agent came is another than it was then" in done.stdout
    assert rows(shop, "gradings") == []


def test_scorecards_alone_and_one_run_alone(shop: Shop) -> None:
    """--score-only grades nothing; --runs takes the runs that are named."""
    run = shop.json("runs")["runs"][0]["run_id"]

    found = shop.json("rescore", "--runs", run, "--score-only")

    assert [one["graded"] for one in found["experiments"]] == [1]
    assert rows(shop, "gradings") == []
    assert [score["version"] for score in shop.json("show", run)["scorecards"]] == [1, 2]
    assert shop.json("show", run)["scorecards"][0]["score"] == shop.json("show", run)["scorecards"][1]["score"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["latest", "--all"],
        ["latest", "--score-only", "--scorers", "no-such.yaml"],
        ["latest", "--jobs", "0"],
        ["latest", "--formula", "1"],
        ["latest", "--runs", "run_none"],
        ["no-such"],
        ["latest", "--scorers", "no-such.yaml"],
        ["latest", "--sandbox", "no-such"],
    ],
)
def test_wrong_input_is_exit_code_2(tmp_path: Path, words: list[str]) -> None:
    """One clear line, never a traceback."""
    fill(tmp_path)

    code, _, said = steelyard(tmp_path, "rescore", *words)

    assert code == 2, said
    assert said.strip()
    assert "Traceback" not in said
