"""Asking a judge: patience that ends, one repair try, and an answer in every case."""

import json

import pytest

from steelyard.domain.usage import Usage
from steelyard.formulas.prices import Price
from steelyard.judge.base import JudgeError, Reply
from steelyard.judge.consult import consult, wait_s
from tests.judge.support import Played, Scripted, Watch, answer, request_for

REQUEST = request_for()
USED = Usage(input_tokens=100, output_tokens=10, cache_read_tokens=0, cache_write_tokens=0)
GOOD = Reply(json.dumps(answer(REQUEST.case)), None, "m-1", USED)
BUSY = JudgeError("busy", "the service answered 429: slow down", status=429)


def test_a_verdict_comes_with_its_footprint() -> None:
    """Ratings, words, and who said so at what cost."""
    judge = Scripted(prices={"m-1": Price(input=1.0, output=10.0)})
    result = consult(judge, Played([GOOD]), REQUEST, Watch().around())

    assert result.verdict == "PASS"
    assert result.judge01 == pytest.approx((1 + 0.75 + 0.5) / 3)
    assert (result.backend, result.model, result.prompt_version) == ("scripted", "m-1", REQUEST.prompt_version)
    assert (result.input_tokens, result.output_tokens) == (100, 10)
    assert result.cost_usd == pytest.approx(200e-6)
    assert (result.scored_at, result.raw) == ("2026-01-01T00:00:00.000000Z", None)
    assert result.fact_checks[0].status == "supported"


def test_an_unknown_price_is_unknown() -> None:
    """No cost is guessed."""
    assert consult(Scripted(), Played([GOOD]), REQUEST, Watch().around()).cost_usd is None


def test_one_repair_try() -> None:
    """A reply that can't be read is shown to the model with the reason; both replies are paid for."""
    line = Played([Reply("I think PASS", None, "m-1", USED), GOOD])
    result = consult(Scripted(), line, REQUEST, Watch().around())

    assert result.verdict == "PASS"
    assert line.asked[1].refused == ("I think PASS", "it holds no JSON object")
    assert REQUEST.case in line.asked[1].complaint
    assert (result.input_tokens, result.output_tokens) == (200, 20)


def test_then_it_is_unparseable() -> None:
    """After the second reply nobody asks again; what was said is kept, whatever it is."""
    line = Played([Reply("first \x1b[2J", None, None, USED), Reply("second", None, None, USED)])
    result = consult(Scripted(), line, REQUEST, Watch().around())

    assert (result.verdict, result.judge01, len(line.asked)) == ("UNPARSEABLE", None, 2)
    assert result.raw == "first \\x1b[2J\n\n[asked again, it answered:]\nsecond"
    assert result.reasoning == "the reply can't be read: it holds no JSON object"
    assert result.input_tokens == 200


def test_passing_troubles_are_waited_out() -> None:
    """429 and a lost connection are tried again, each time later; what the service asks for is kept to."""
    told = JudgeError("busy", "429", retry_after_s=7)
    line = Played([BUSY, JudgeError("network", "reset"), told, GOOD])
    watch = Watch()

    assert consult(Scripted(), line, REQUEST, watch.around()).verdict == "PASS"
    assert 0.5 <= watch.waits[0] <= 1.0 <= watch.waits[1] <= 2.0
    assert watch.waits[2] == 7
    again = Watch()
    consult(Scripted(), Played([BUSY, JudgeError("network", "reset"), told, GOOD]), REQUEST, again.around())
    assert again.waits == watch.waits


def test_patience_ends() -> None:
    """After `max_retries` the trouble is the result."""
    line = Played([BUSY])
    result = consult(Scripted(max_retries=2), line, REQUEST, Watch().around())

    assert (result.verdict, len(line.asked)) == ("UNPARSEABLE", 3)
    assert result.reasoning == "no verdict: the service answered 429: slow down"


def test_retries_fit_into_the_judges_time() -> None:
    """A service that asks for more patience than the judge has is not waited for."""
    line = Played([JudgeError("busy", "429", retry_after_s=20)])
    watch = Watch()
    consult(Scripted(max_retries=20, timeout_s=50), line, REQUEST, watch.around())

    assert watch.waits == [20, 20]
    assert len(line.asked) == 3


@pytest.mark.parametrize("trouble", ["timeout", "refused", "broken", "interrupted"])
def test_other_troubles_are_final(trouble: str) -> None:
    """They are told at once, with what came instead of a reply."""
    line = Played([JudgeError(trouble, "so it is", raw="<html>")])  # type: ignore[arg-type]  # one of the troubles
    result = consult(Scripted(), line, REQUEST, Watch().around())

    assert (result.verdict, result.reasoning, result.raw) == ("UNPARSEABLE", "no verdict: so it is", "<html>")
    assert len(line.asked) == 1


def test_stopping_ends_the_wait() -> None:
    """When the program is to stop, nobody is asked again."""
    line = Played([BUSY])
    result = consult(Scripted(), line, REQUEST, Watch(stopped=True).around())

    assert "stopped while waiting" in result.reasoning
    assert len(line.asked) == 1


@pytest.mark.parametrize("error", [RuntimeError("boom"), MemoryError(), RecursionError("deep"), KeyError("x")])
def test_a_broken_judge_breaks_nothing(error: Exception) -> None:
    """Whatever a backend raises is a recorded state."""
    result = consult(Scripted(), Played([error]), REQUEST, Watch().around())

    assert result.verdict == "UNPARSEABLE"
    assert result.reasoning.startswith("no verdict: ")


def test_a_failed_repair_keeps_the_first_reply() -> None:
    """When the second request fails, the first reply and its cost are still there."""
    line = Played([Reply("hm", None, "m-1", USED), JudgeError("refused", "401")])
    result = consult(Scripted(), line, REQUEST, Watch().around())

    assert (result.raw, result.reasoning, result.input_tokens) == ("hm", "no verdict: 401", 100)


def test_a_huge_reply_is_cut() -> None:
    """What is kept of a reply is bounded, and says so."""
    result = consult(Scripted(), Played([Reply("x" * 900_000)]), REQUEST, Watch().around())

    assert result.raw is not None
    assert len(result.raw) < 21_000
    assert result.raw.endswith("characters more)")


def test_waits_grow_and_are_bounded() -> None:
    """1, 2, 4 … seconds, at least half of it, at most 30; a negative wish is none."""
    waits = [wait_s(attempt, "seed") for attempt in range(8)]

    assert all(full / 2 <= wait <= full for wait, full in zip(waits, (1, 2, 4, 8, 16, 30, 30, 30), strict=True))
    assert (wait_s(0, "s", 1e9), wait_s(0, "s", -5)) == (30.0, 0.0)
