"""The jury: shared lines, bounded concurrency, and never an exception."""

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from steelyard import plugins
from steelyard.domain.suite import JudgeSpec
from steelyard.errors import InputError
from steelyard.judge.base import Judge, JudgeRequest, Line, Reply
from steelyard.judge.jury import Jury
from tests.judge.support import ABOUT, Played, Scripted, Watch, a_run, alone, answer, request_for, task

NOW = Watch().around()
REQUEST = request_for()


class Counting(Line):
    """Knows how many asked at once; each waits until so many are inside, or nobody else can come."""

    def __init__(self, places: int) -> None:
        self.inside, self.most = 0, 0
        self.full = threading.Barrier(places)
        self.lock = threading.Lock()

    def ask(self, request: JudgeRequest) -> Reply:
        """Meet the others that are let in."""
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.full.wait(60)
        with self.lock:
            self.inside -= 1
        return Reply(json.dumps(answer(request.case)))


def test_no_more_at_once_than_allowed() -> None:
    """Twelve questions, three places: three at once, never four, over one line."""
    line = Counting(3)
    opened: list[Judge] = []
    jury = Jury(alone(Scripted(concurrency=3)), {}, NOW, lambda judge, _line: opened.append(judge) or line)  # type: ignore[func-returns-value]
    with jury, ThreadPoolExecutor(12) as pool:
        results = list(pool.map(lambda _: jury.judge(a_run(), ABOUT), range(12)))

    assert all(result is not None and result.verdict == "PASS" for result in results)
    assert line.most == 3
    assert len(opened) == 1


def test_lines_are_closed() -> None:
    """Once, also when asked twice."""
    line = Played([Reply(json.dumps(answer(REQUEST.case)))])
    jury = Jury(alone(Scripted()), {}, NOW, lambda _judge, _line: line)
    jury.judge(a_run(), ABOUT)
    jury.close()
    jury.close()

    assert line.closed == 1


def test_a_disabled_judge_says_nothing() -> None:
    """Nor does an empty jury."""
    jury = Jury(alone(Scripted()), {}, NOW)
    assert jury.judge(a_run(task=task(judge={"enabled": False})), ABOUT) is None
    assert Jury(lambda _spec: (), {}, NOW).judge(a_run(), ABOUT) is None


def test_a_panel_asks_all_and_keeps_all() -> None:
    """Two judges that differ: a tie, which fails, with both kept in order."""
    one = plugins.build("judges", {"type": "canned", "model": "one"})
    two = plugins.build("judges", {"type": "canned", "model": "two", "answers": [{"verdict": "FAIL"}]})
    with Jury(lambda _spec: (one, two), {}, NOW) as jury:
        result = jury.judge(a_run(), ABOUT)

    assert result is not None
    assert (result.verdict, result.backend, result.model) == ("FAIL", "panel", "one, two")
    assert [member.verdict for member in result.members] == ["PASS", "FAIL"]


def test_a_line_that_can_not_be_opened_is_a_state() -> None:
    """A key that is gone by then breaks no run."""
    judge = plugins.build("judges", {"type": "anthropic"})
    result = Jury(alone(judge), {}, NOW).judge(a_run(), ABOUT)

    assert result is not None
    assert (result.verdict, result.backend) == ("UNPARSEABLE", "anthropic")
    assert "ANTHROPIC_API_KEY is not set" in result.reasoning


def test_a_choice_that_fails_is_a_state() -> None:
    """Whatever goes wrong before the question is asked."""

    def seats(spec: JudgeSpec) -> tuple[Judge, ...]:
        raise InputError(f"no seats for {spec.backend}")

    result = Jury(seats, {}, NOW).judge(a_run(), ABOUT)

    assert result is not None
    assert (result.verdict, result.reasoning) == ("UNPARSEABLE", "no verdict: no seats for None")


class Broken(Judge):
    """An outside part with a mistake."""

    type: str = "broken"

    def open(self, env: Mapping[str, str]) -> Line:
        """Never works."""
        raise ZeroDivisionError("division by zero")


def test_a_broken_part_is_a_state() -> None:
    """A judge from another package that raises anything."""
    result = Jury(alone(Broken()), {}, NOW).judge(a_run(), ABOUT)

    assert result is not None
    assert (result.verdict, result.backend) == ("UNPARSEABLE", "broken")
    assert "division by zero" in result.reasoning


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"])
def test_the_judges_own_keys_never_go_out(name: str) -> None:
    """An agent that got hold of the judge's key can't have it repeated."""
    line = Played([Reply("")])
    jury = Jury(alone(Scripted()), {name: "plain-words-key"}, NOW, lambda _judge, _line: line)
    jury.judge(a_run(final_response="plain-words-key"), ABOUT)

    assert "plain-words-key" not in line.asked[0].evidence
