"""run --until-decided with real runs: stops when it is clear, goes on when it is not, and keeps its rule."""

import re
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.main import parser_for
from steelyard.cli.waves import until_of
from steelyard.errors import InputError
from tests.cli.shop import Shop

SUITE = """
scenarios:
  fix:
    seed: {{directory: seed}}
    setup: ["{setup}"]
    limits: {{timeout_s: 120}}
    scorers:
      - {{name: check, type: command, command: "grep -q right code.txt"}}
tasks:
  - {{id: one, scenario: fix, prompt: "make it right"}}
  - {{id: two, scenario: fix, prompt: "make it right"}}
  - {{id: three, scenario: fix, prompt: "make it right"}}
arms:
  before: {{agent: command, command: "{before}; {usage}"}}
  after: {{agent: command, command: "{after}; {usage}"}}
compare: {{baseline: before, candidate: after}}
repeats: 2
"""
USAGE = 'echo \'{\\"cost_usd\\": 0.25, \\"input_tokens\\": 10}\' > $STEELYARD_USAGE_FILE'
RIGHT, LEFT = "echo right > code.txt", "echo left > code.txt"
QUIET = ("--sandbox", "local", "--jobs", "2", "--judge", "none")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """An empty directory with a seed."""
    (tmp_path / "seed").mkdir()
    made = Shop(tmp_path)
    made.write("seed/code.txt", "wrong\n")
    return made


def suite(shop: Shop, before: str, after: str, setup: str = "true") -> None:
    """A suite of three tasks and two arms."""
    shop.write("suite.yaml", SUITE.format(before=before, after=after, usage=USAGE, setup=setup))


def until(shop: Shop, *words: str, code: int | None = 0) -> dict[str, Any]:
    """The whole document of a run."""
    found: dict[str, Any] = shop.json("run", "suite.yaml", *QUIET, *words, code=code)
    return found


def cells(document: dict[str, Any]) -> set[tuple[str, str, int]]:
    """What ran."""
    return {(run["task_id"], run["arm"], run["repeat"]) for run in document["runs"]}


def test_a_clear_difference_stops_early_and_says_what_it_saved(shop: Shop) -> None:
    """Always better: improved after a few balanced waves, far from the most that were allowed."""
    suite(shop, LEFT, RIGHT)

    document = until(shop, "--until-decided", "--max-repeats", "20")

    found = document["until_decided"]
    repeats = found["repeats"]
    assert found["decision"] == "improved"
    assert 1 <= repeats <= 5
    assert cells(document) == {
        (task, arm, repeat)
        for task in ("one", "two", "three")
        for arm in ("before", "after")
        for repeat in range(1, repeats + 1)
    }
    assert found["e_value"] >= found["e_value_needed"] == 40
    assert 0 < found["interval"][0] < found["mean"] <= found["interval"][1] <= 1
    assert found["pass_interval"][0] > 0
    assert found["runs_saved"] == (found["fixed_design_repeats"] - repeats) * 6
    assert found["cost_saved_usd"] == pytest.approx(found["runs_saved"] * 0.25)

    again = until(shop, "--resume")
    assert again["until_decided"] == found
    assert cells(again) == cells(document)
    notes = shop.json("compare", "latest")["notes"]
    assert [note for note in notes if note.startswith("until decided: the candidate is better")]


def test_a_clear_loss_is_regressed(shop: Shop) -> None:
    """Exit code 1, and the summary for people names the decision."""
    suite(shop, RIGHT, LEFT)

    done = shop.run("run", "suite.yaml", *QUIET, "--until-decided")

    assert done.returncode == 1, done.stderr
    assert "until decided: the candidate is worse after" in done.stdout


def test_equal_arms_go_on_to_the_end_and_can_be_given_more(shop: Shop) -> None:
    """Two waves decide nothing between equals; --resume with more repeats adds a wave to the same experiment."""
    suite(shop, RIGHT, RIGHT)

    first = until(shop, "--until-decided", "--max-repeats", "2", "--alpha", "0.001", code=None)
    more = until(shop, "--resume", "--max-repeats", "3", code=None)

    assert first["until_decided"]["decision"] == "undecided"
    assert (first["until_decided"]["repeats"], more["until_decided"]["repeats"]) == (2, 3)
    assert first["until_decided"]["runs_saved"] == 0
    assert more["experiment"] == first["experiment"]
    assert len(more["runs"]) == 18


def test_equal_arms_with_a_wide_margin_are_no_different(shop: Shop) -> None:
    """Where only half the range would matter, a handful of equal waves is enough."""
    suite(shop, RIGHT, RIGHT)

    found = until(shop, "--until-decided", "--margin", "0.6", "--max-repeats", "12", code=None)["until_decided"]

    assert found["decision"] == "no_difference"
    assert -0.6 < found["interval"][0] < found["interval"][1] < 0.6


def test_repeats_are_the_least(shop: Shop) -> None:
    """With --repeats the first look comes after so many."""
    suite(shop, LEFT, RIGHT)

    assert until(shop, "--until-decided", "--repeats", "5")["until_decided"]["repeats"] == 5


def test_a_wave_that_can_not_be_completed_stops_it(shop: Shop) -> None:
    """A setup that always fails measures nothing: it is said, and no further wave is paid for."""
    suite(shop, LEFT, RIGHT, setup="exit 7")

    document = until(shop, "--until-decided", "--retries", "0", code=3)

    assert document["until_decided"]["decision"] == "undecided"
    assert document["until_decided"]["incomplete_repeats"] == [1]
    assert "could not be completed" in document["stopped_by"]
    assert {run["repeat"] for run in document["runs"]} == {1}


def test_a_failed_wave_is_tried_again(shop: Shop) -> None:
    """A setup that fails once leaves its wave open; the next round completes it and it counts."""
    flag = shop.root / "failed-once"
    suite(
        shop, LEFT, RIGHT, setup=f"test -e {flag} || {{ touch {flag}; exit 7; }}".replace("{{", "{").replace("}}", "}")
    )

    found = until(shop, "--until-decided", "--retries", "0", "--jobs", "1")["until_decided"]

    assert (found["decision"], found["incomplete_repeats"]) == ("improved", [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--alpha", "0.1"], "--alpha goes with --until-decided"),
        (["--until-decided", "--alpha", "2"], "--alpha 2.0: allowed: 0.0001 to 0.5"),
        (["--until-decided", "--alpha", "nan"], "--alpha nan: allowed"),
        (["--until-decided", "--margin", "0"], "--margin 0.0: allowed: 0.001 to 0.999"),
        (["--until-decided", "--max-repeats", "0"], "--max-repeats 0: allowed: 1 to 10000"),
        (["--until-decided", "--repeats", "9", "--max-repeats", "8"], "--repeats 9 is more than --max-repeats 8"),
    ],
)
def test_wrong_options_are_refused(words: list[str], said: str) -> None:
    """One line that says what is allowed."""
    with pytest.raises(InputError, match=re.escape(said)):
        until_of(parser_for("run").parse_args(["suite.yaml", *words]))


def test_one_arm_alone_is_refused_before_anything_is_stored(shop: Shop) -> None:
    """Exit code 2, and there is no experiment to resume."""
    suite(shop, LEFT, RIGHT)

    said = shop.refused("run", "suite.yaml", *QUIET, "--until-decided", "--arm", "after")

    assert "weighs two arms, and there is only one" in said
    assert "no experiment" in shop.refused("run", "suite.yaml", *QUIET, "--resume")


def test_the_rule_can_not_change_on_the_way(shop: Shop) -> None:
    """--resume keeps alpha and margin, and the whole suite."""
    suite(shop, LEFT, RIGHT)
    until(shop, "--until-decided")

    refused = [
        shop.refused("run", "suite.yaml", *QUIET, "--resume", *words)
        for words in (["--alpha", "0.2"], ["--margin", "0.2"], ["--task", "one"])
    ]

    assert "--alpha 0.2: the experiment began with 0.05" in refused[0]
    assert "--margin 0.2: the experiment began with 0.05" in refused[1]
    assert "--arm and --task do not go with --resume" in refused[2]
