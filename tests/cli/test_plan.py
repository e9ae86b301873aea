"""steelyard plan, used as a person would use it."""

import json
from pathlib import Path

import pytest

from tests.cli.shop import Shop

SUITE = """
scenarios:
  note:
    seed: {empty: true}
    scorers:
      - {name: there, type: file_exists, path: note}
tasks:
TASKS
arms:
  old: {agent: command, command: "touch note"}
  new: {agent: command, command: "touch note extra"}
compare: {baseline: old, candidate: new}
repeats: 2
"""


def suite(tasks: int) -> str:
    """A suite of so many tasks."""
    return SUITE.replace("TASKS", "\n".join(f"  - {{id: t{i}, scenario: note, prompt: Write.}}" for i in range(tasks)))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """An empty directory to work in."""
    return Shop(tmp_path)


def run(shop: Shop, *words: str) -> str:
    """Run the suite; the experiment's id."""
    return str(shop.json("run", "suite.yaml", "--sandbox", "local", "--jobs", "2", *words, code=None)["experiment"])


def test_a_suite_is_planned_from_its_stored_runs(shop: Shop) -> None:
    """Repeats, runs, cost and time for the wanted effect, and what the design could see."""
    shop.write("suite.yaml", suite(5))
    experiment = run(shop)
    found = shop.json("plan", "suite.yaml", "--effect", "0.1")
    assert (found["experiment"], found["tasks"], found["arms"]) == (experiment, 5, ["old", "new"])
    plan = found["plans"]["composite"]
    assert (plan["scope"], plan["effect"]) == ("tasks like these", 0.1)
    assert [row["effect"] for row in plan["effects"]] == [0.02, 0.05, 0.1, 0.2]
    for row in plan["effects"]:
        assert row["cost_usd"] is None
        assert row["runs"] == (None if row["repeats"] is None else 2 * 5 * row["repeats"])
        assert (row["seconds"] is None) == (row["repeats"] is None)
    text = shop.run("plan", "latest").stdout
    assert "5 tasks × 2 arms × 2 repeats" in text
    assert "the design now could see" in text


def test_one_task_is_planned_honestly(shop: Shop) -> None:
    """It speaks of that task alone; one repeat of one arm says that it knows nothing yet."""
    shop.write("suite.yaml", suite(1))
    run(shop, "--repeats", "5")
    done = shop.run("plan", "suite.yaml")
    assert done.returncode == 0, done.stderr
    assert "on these tasks only" in done.stdout
    assert "say nothing about other tasks" in done.stdout
    run(shop, "--repeats", "1", "--arm", "old")
    found = shop.json("plan", "suite.yaml")
    assert found["arms"] == ["old"]
    assert found["plans"]["composite"]["repeats"] is None
    assert any("only old has runs" in note for note in found["notes"])


def test_imported_runs_show_their_own_design(shop: Shop) -> None:
    """Nobody knows what was planned elsewhere: tasks and repeats are counted, not taken for none."""
    tokens = dict.fromkeys(("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"), 1)
    lines = [
        {"run_id": f"{task}-{arm}-{k}", "task_id": f"t{task}", "arm": arm, "repeat": k, "composite": k / 10, **tokens}
        | {"success": True, "duration_seconds": 1.0, "total_cost_usd": 0.1}
        for task in range(6)
        for arm in ("old", "new")
        for k in (1, 2, 3)
    ]
    shop.write("night.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    shop.json("import", "night.jsonl")

    found = shop.json("plan", "night", "--baseline", "old", "--candidate", "new")

    assert (found["tasks"], found["repeats_now"], found["notes"]) == (6, 3, [])
    ranking = shop.json("promote", "night", "--winner", "--task", "t1", code=1)["ranking"]
    assert {one["composite"] for one in ranking} == {0.1, 0.2, 0.3}


def test_without_a_pilot_the_command_that_makes_one_is_named(shop: Shop) -> None:
    """Exit code 3: there is nothing to plan from yet."""
    shop.write("suite.yaml", suite(1))
    text = shop.refused("plan", "suite.yaml", code=3)
    assert "`steelyard run suite.yaml --repeats 3`" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["latest", "--effect", "0"], "--effect 0.0: allowed: above 0"),
        (["latest", "--effect", "nan"], "--effect nan"),
        (["latest", "--power", "1"], "--power 1.0"),
        (["latest", "--alpha", "0"], "--alpha 0.0"),
        (["nothing.yaml"], "no such file"),
        (["latest"], "there is no store"),
        ([], "SUITE|EXPERIMENT is missing"),
    ],
)
def test_wrong_words_are_refused(shop: Shop, words: list[str], said: str) -> None:
    """One line each."""
    assert said in shop.refused("plan", *words)
