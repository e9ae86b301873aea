"""steelyard judge: labels and pairs from the command line, on runs that were really run."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Shop
from tests.judge.support import Asked, Raw, answer, raw_model, wire
from tests.judge.test_run import NO_KEYS

SUITE = """
scenarios:
  fix:
    seed: {empty: true}
    scorers: [{name: check, type: file_exists, path: good.txt}]
    judge: {judges: [{type: canned, answers: [{text: '{"case": "{case}", "reasoning": "", "better": "X"}', task: odd},
      {prefer: good}, {arm: good}, {arm: bad, verdict: FAIL, failure_mode: no_op}]}]}
tasks:
  - {id: one, scenario: fix, prompt: "Write good.txt."}
  - {id: odd, scenario: fix, prompt: "Write good.txt again."}
arms:
  bad: {agent: command, command: "echo x > bad.txt; echo never"}
  good: {agent: command, command: "echo x > good.txt; echo done"}
  same: {agent: command, command: "echo x > good.txt; echo done"}
repeats: 2
"""


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A directory with one experiment: two tasks, three arms, two repeats."""
    root = tmp_path / "shop"
    root.mkdir()
    made = Shop(root)
    made.write("suite.yaml", SUITE)
    done = made.steelyard("run", "suite.yaml", "--sandbox", "local", "--json", **NO_KEYS)
    assert done.returncode == 1, done.stderr  # the arm bad fails its check
    return made


def label(shop: Shop, *more: dict[str, Any]) -> list[str]:
    """Labels of the first task: people pass what the arms good and bad did."""
    runs = [run for run in shop.json("runs", "--task", "one")["runs"] if run["arm"] != "same"]
    lines = [{"run_id": run["run_id"], "verdict": "PASS"} for run in runs]
    shop.write("labels.jsonl", "".join(json.dumps(line) + "\n" for line in (*lines, *more)))
    return [run["run_id"] for run in runs if run["arm"] == "bad"]


def refused(shop: Shop, *words: str, code: int = 2) -> str:
    """What is said to wrong words."""
    done = shop.steelyard("judge", *words, **NO_KEYS)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


def test_labels_against_stored_and_fresh_verdicts(shop: Shop) -> None:
    """The stored verdicts, then a service's own, asked three times without the cache; nothing is stored."""
    strict = label(shop, {"run_id": "run_nowhere", "verdict": "FAIL"}, {"run_id": "latest", "verdict": "FAIL"})

    stored = shop.json("judge", "check", "labels.jsonl")

    assert (stored["judge"], stored["runs"], stored["compared"], stored["agreement"]) == ("stored", 4, 4, 0.5)
    assert stored["unknown_runs"] == ["run_nowhere", "latest"]
    assert sorted(stored["too_strict"]) == sorted(strict)
    assert stored["failure_modes"][0]["failure_mode"] == "no_op"
    assert stored["retest"] is None

    def kind(asked: Asked) -> Raw:
        case = re.search(r"Case ([0-9a-f]{16})\. ", json.dumps(asked.body))
        assert case is not None
        return wire("anthropic", json.dumps(answer(case[1])))

    words = ("judge", "check", "labels.jsonl", "--judge", "anthropic", "--model", "m-1")
    with raw_model(kind) as model:
        env = {**NO_KEYS, **model.env}
        done = shop.steelyard(*words, "--retest", "3", **env)
        asked = len(model.asked)
        fresh = [json.loads(shop.steelyard(*words, "--json", **env).stdout) for _ in range(2)]
        later = len(model.asked)

    assert done.returncode == 0, done.stderr
    assert asked == 12
    assert "asked 3 times: 100.0 % of 4 runs always got the same verdict, kappa between tries undefined" in done.stdout
    assert "agreement 100.0 %" in done.stdout
    assert "not stored here: run_nowhere" in done.stdout
    assert fresh[0] == fresh[1]
    assert later - asked <= 4  # the second look found every answer in the cache
    assert len(shop.json("show", strict[0])["judgements"]) == 1


def test_nothing_to_compare_is_exit_code_3(shop: Shop) -> None:
    """Labels of runs that are not here; a service that is down."""
    shop.write("labels.jsonl", '{"run_id": "run_nowhere", "verdict": "FAIL"}\n')
    assert "nothing could be compared" in refused(shop, "check", "labels.jsonl", code=3)
    label(shop)
    with raw_model(lambda _asked: Raw(b"no", 403)) as model:
        env = {**NO_KEYS, **model.env}
        done = shop.steelyard("judge", "check", "labels.jsonl", "--judge", "openai", "--json", **env)

    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert len(found["skipped"]) == 4
    assert found["confusion"]["PASS"]["NOT_RUN"] == 4


def test_pairs_are_chosen_blind_in_both_orders(shop: Shop) -> None:
    """One task goes to the arm that is liked, the other to whoever stands first, which is told as bias."""
    words = ("judge", "pairs", "latest", "--baseline", "bad", "--candidate", "good")

    found = shop.json(*words)

    assert [found[name] for name in ("pairs", "wins", "ties", "losses", "by_position")] == [4, 2, 0, 0, 2]
    assert found["position"]["pairs_leaning_to_first"] == 2
    assert found["position"]["p"] == 0.5
    assert found["position"]["x_share"] == 0.75
    orders = found["matches"][-1]["orders"]
    assert [(order["x"], order["y"], order["better"]) for order in orders] == [
        ("bad", "good", "Y"),
        ("good", "bad", "X"),
    ]
    limited = shop.json(*words, "--limit", "2")
    assert {match["task_id"] for match in limited["matches"]} == {"one", "odd"}
    shown = shop.steelyard(*words, "--task", "one")
    assert shown.returncode == 0
    assert "good 2 wins, 0 ties, 0 losses" in shown.stdout


def test_the_same_work_is_not_asked_about(shop: Shop) -> None:
    """Two arms that did the same: ties, and no question."""
    found = shop.json("judge", "pairs", "latest", "--baseline", "same", "--candidate", "good")

    assert (found["ties"], found["identical"], found["requests"], found["cost_usd"]) == (4, 4, 0, 0)


def test_wrong_words_are_refused(shop: Shop) -> None:
    """Exit code 2 and one clear line each; a bad line of labels with its number."""
    shop.write("labels.jsonl", '{"run_id": "a", "verdict": "PASS"}\n{"run_id": "b", "verdict": "MAYBE"}\n')

    assert "labels.jsonl:2: verdict: must be one of 'PASS', 'FAIL'" in refused(shop, "check", "labels.jsonl")
    for words, said in (
        (("check", "none.jsonl"), "none.jsonl: can't be read"),
        (("check", "labels.jsonl", "--retest", "1"), "allowed: 2 to 50"),
        (("check", "labels.jsonl", "--task", "one"), "--task goes with judge pairs"),
        (("check", "labels.jsonl", "--judge", "none"), "somebody has to judge"),
        (("check", "labels.jsonl", "--model", "m"), "--model goes with --judge NAME"),
        (("pairs", "latest"), "--baseline and --candidate"),
        (("pairs", "latest", "--retest", "2"), "--retest goes with judge check"),
        (("pairs", "latest", "--baseline", "bed", "--candidate", "good"), "did you mean 'bad'"),
        (("pairs", "latest", "--baseline", "bad", "--candidate", "good", "--task", "two"), "--task two"),
        (("pairs", "latest", "--baseline", "bad", "--candidate", "good", "--limit", "0"), "--limit 0"),
        (("pairs", "no-such", "--baseline", "bad", "--candidate", "good"), "no-such"),
        (("other", "x"), "other"),
        ((), "is missing"),
    ):
        assert said in refused(shop, *words)
