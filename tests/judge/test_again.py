"""Judging stored runs again: evidence from the store, flips, and a cache shared with the run itself."""

import json
import re
import sqlite3
from typing import Any

from steelyard.domain.grade import JudgeResult
from steelyard.judge.again import evidence_of, unanswered
from steelyard.judge.panel import combine
from steelyard.judge.request import build_request
from steelyard.settings import read_settings
from steelyard.wiring import open_store
from tests.e2e.conftest import Shop
from tests.judge.support import ABOUT, Asked, Raw, answer, raw_model, wire
from tests.judge.test_run import NO_KEYS

SUITE = """
scenarios:
  fix:
    seed: {directory: seed}
    scorers:
      - {name: check, type: command, command: "echo seen; grep -q right code.txt"}
      - {name: taste, type: llm_judge, rubric: "Prefer the smallest clear change."}
tasks:
  - {id: code, scenario: fix, prompt: "Make it right."}
  - id: chat
    prompt: "Say hi."
    judge: {judges: [{type: canned, answers: [{arm: before, verdict: FAIL, task_completion: 1, efficiency: 1}]}]}
arms:
  before: {agent: command, command: "echo left > code.txt; rm old.txt; echo no >&2; echo zebra"}
  after: {agent: command, command: "echo right > code.txt; echo new > new.txt; echo hi"}
compare: {baseline: before, candidate: after}
"""


def verdict_of(asked: Asked, **fields: Any) -> str:
    """A reply to the case that stands in the prompt."""
    case = re.search(r"Case ([0-9a-f]{16})\. ", json.dumps(asked.body))
    assert case is not None
    return json.dumps(answer(case[1], **fields))


def made(shop: Shop, *words: str, **env: str) -> None:
    """Run the suite once."""
    shop.write("seed/code.txt", "wrong\n")
    shop.write("seed/old.txt", "old\n")
    shop.write("suite.yaml", SUITE)
    done = shop.steelyard("run", "suite.yaml", "--sandbox", "local", "--json", *words, **{**NO_KEYS, **env})
    assert done.returncode in (0, 1), done.stderr


def rescore(shop: Shop, *words: str, code: int = 0, **env: str) -> dict[str, Any]:
    """Judge the latest experiment again; its document."""
    done = shop.steelyard("rescore", "latest", *words, "--json", **{**NO_KEYS, **env})
    assert done.returncode == code, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout)["experiments"][0]
    return found


def judgements(shop: Shop) -> int:
    """How many verdicts are stored, read past the program."""
    with sqlite3.connect(shop.root / ".steelyard" / "steelyard.db") as database:
        return int(database.execute("SELECT count(*) FROM judgements").fetchone()[0])


def test_the_evidence_is_the_same_and_the_cache_is_shared(shop: Shop) -> None:
    """A run judged by a real service is judged again without a request: the prompt is the same, byte for byte."""
    with raw_model(lambda asked: wire("openai", verdict_of(asked))) as model:
        made(shop, "--judge", "openai", **model.env)
        first = [asked.body["messages"] for asked in model.asked]
        cached = rescore(shop, "--judge", "openai", code=0, **model.env)
        between = len(model.asked)
        anew = rescore(shop, "--judge", "openai", "--no-cache", code=0, **model.env)
        again = [asked.body["messages"] for asked in model.asked[between:]]

    assert len(first) == between == 4
    assert (cached["judged"], cached["cached"], cached["cost_usd"], cached["changed"]) == (4, 4, 0.0, [])
    assert (anew["judged"], anew["cached"]) == (4, 0)
    assert sorted(map(json.dumps, again)) == sorted(map(json.dumps, first))
    assert judgements(shop) == 12
    shown = shop.json("show", "latest")["judgements"]
    assert [one["cached"] for one in shown] == [False, True, False]
    assert [one["prompt_version"] for one in shown] == ["1", "1", "1"]


def test_flips_are_shown_and_may_turn_the_verdict(shop: Shop) -> None:
    """A judge that now fails the candidate's chat flips the comparison: exit code 1; a dry run stores nothing."""
    made(shop, "--judge", "canned")
    words = ("rescore", "latest", "--judge", "openai", "--model", "m-1", "--no-cache")

    def strict(asked: Asked) -> Raw:
        low = {"task_completion": 1, "instruction_adherence": 1, "efficiency": 1}
        worse = {"verdict": "FAIL", "failure_mode": "wrong_solution", **low}
        return wire("openai", verdict_of(asked, **(worse if "Say hi" in json.dumps(asked.body) else {})))

    with raw_model(strict) as model:
        env = {**NO_KEYS, **model.env}
        dry = shop.steelyard(*words, "--dry-run", **env)
        kept = judgements(shop)
        done = shop.steelyard(*words, "--json", **env)

    assert dry.returncode == done.returncode == 0, dry.stderr + done.stderr
    assert kept == 4
    assert judgements(shop) == 8
    assert "4 runs judged again, 0 skipped (nothing stored)" in dry.stdout
    assert "PASS → FAIL" in dry.stdout
    assert "- → wrong_solution" in dry.stdout
    assert "5/5/5 → 1/1/1" in dry.stdout
    one = json.loads(done.stdout)["experiments"][0]
    flipped = {
        (c["task_id"], c["arm"]): (c["before"]["verdict"], c["after"]["verdict"]) for c in one["changed"] if c["flips"]
    }
    assert flipped == {
        ("chat", "before"): ("PASS", "FAIL"),
        ("chat", "after"): ("PASS", "FAIL"),
        ("code", "before"): ("FAIL", "PASS"),
    }
    assert shop.json("runs", "--verdict", "FAIL")["runs"][0]["failure_mode"] == "wrong_solution"
    listed = shop.steelyard("runs", "--disagree").stdout
    assert "plausible but violates a hard constraint" in listed
    compared = shop.json("compare", "latest", code=None)["disagreements"]
    assert [(d["arm"], d["runs"], len(d["run_ids"])) for d in compared] == [("before", 1, 1)]
    assert "Gates that disagree" in shop.steelyard("compare", "latest").stdout


def test_a_regression_that_only_the_judge_sees_is_exit_code_1(shop: Shop) -> None:
    """The comparison's verdict flips from improved to regressed, and it says so."""
    made(shop, "--task", "chat")

    def against(asked: Asked) -> Raw:
        low = {"task_completion": 1, "instruction_adherence": 1, "efficiency": 1}
        worse = {"verdict": "FAIL", "failure_mode": "other", **low}
        return wire("openai", verdict_of(asked, **({} if "zebra" in json.dumps(asked.body) else worse)))

    with raw_model(against) as model:
        found = rescore(shop, "--judge", "openai", code=1, **model.env)

    assert found["verdict"] == {"before": "improved", "after": "regressed"}
    assert any(line.startswith("verdict improved → regressed: chat: ") for line in found["flips"])


def test_a_service_that_is_down_replaces_no_verdict(shop: Shop) -> None:
    """Every run is skipped with the reason, nothing is stored, exit code 3."""
    made(shop, "--judge", "canned")
    with raw_model(lambda _asked: Raw(b"no", 403)) as model:
        found = rescore(shop, "--judge", "openai", code=3, **model.env)

    assert found["judged"] == 0
    assert len(found["skipped"]) == 4
    assert all("answered 403" in one["reason"] for one in found["skipped"])
    assert judgements(shop) == 4


def test_only_some_runs_and_the_tasks_own_judge(shop: Shop) -> None:
    """--runs takes those that are named; auto asks who the suite says, and skips what nobody judges."""
    made(shop, "--judge", "canned")
    run = shop.json("runs")["runs"][0]["run_id"]

    assert rescore(shop, "--judge", "canned", "--runs", run)["judged"] == 1
    found = rescore(shop, "--judge", "auto", PATH="/usr/bin:/bin", HOME=str(shop.root))
    assert found["judged"] == 2
    assert [one["reason"] for one in found["skipped"]] == ["nobody judges its task"] * 2


WRONG = [
    (("--judge", "none"), "somebody has to judge"),
    (("--judge", "gpt"), "no such judge"),
    (("--judge", "openai"), "OPENAI_API_KEY"),
    (("--judge", "auto", "--model", "m"), "--model goes with --judge NAME"),
    (("--model", "m"), "--model goes with --judge NAME"),
    (("--no-cache",), "--no-cache goes with --judge NAME"),
    (("--judge", "canned", "--score-only"), "grades nothing"),
    (("--judge", "canned", "--runs", "run_none"), "run_none"),
]


def test_wrong_words_are_one_line(shop: Shop) -> None:
    """Exit code 2, and nothing is judged."""
    made(shop, "--judge", "canned", "--task", "chat", "--arm", "after")

    for words, said in WRONG:
        done = shop.steelyard("rescore", "latest", *words, **NO_KEYS)

        assert done.returncode == 2, done.stdout
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    assert judgements(shop) == 1


def test_a_run_that_lost_its_artifacts_is_skipped(shop: Shop) -> None:
    """The reason is said, and the others are judged."""
    made(shop, "--judge", "canned")
    for path in (shop.root / ".steelyard" / "artifacts").glob("??/*.zst"):
        path.write_bytes(b"damaged")
    found = rescore(shop, "--judge", "canned", code=3)

    assert all("damaged" in one["reason"] for one in found["skipped"])


def test_rebuilt_evidence_names_every_change(shop: Shop) -> None:
    """Deleted and new files are there, with the response and the scorer's output."""
    made(shop, "--judge", "canned", "--task", "code", "--arm", "before")
    settings = read_settings(shop.env())
    with open_store(settings) as store:
        run = store.run("latest").run
        task = store.task(run.task_sha256).task
        blobs = {name: store.artifact(sha) for name, sha in run.artifacts.items()}
    request = build_request(evidence_of(run, task, blobs), ABOUT)

    for words in ("deleted: old.txt", "modified: code.txt", "zebra", "seen", "OVERALL: FAIL", "smallest clear change"):
        assert words in request.context + request.evidence


def result(verdict: Any, reasoning: str = "") -> JudgeResult:
    """A verdict."""
    fields = {
        "backend": "b",
        "model": "m",
        "prompt_version": "1",
        "duration_s": 0.0,
        "scored_at": "2026-01-01T00:00:00Z",
    }
    return JudgeResult.model_validate({"verdict": verdict, "reasoning": reasoning, **fields})


def test_no_answer_and_a_bad_answer_are_told_apart() -> None:
    """A panel went unanswered when all its members did."""
    down, odd = result("UNPARSEABLE", "no verdict: down"), result("UNPARSEABLE", "the reply can't be read: hm")

    assert unanswered(down) == "down"
    assert unanswered(odd) is None
    assert unanswered(result("PASS", "no verdict: is a phrase")) is None
    assert unanswered(combine([down, down], 0.0, "2026-01-01T00:00:00Z")) == "down"
    assert unanswered(combine([down, odd], 0.0, "2026-01-01T00:00:00Z")) is None
