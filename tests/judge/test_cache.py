"""The cache of replies: what makes a question the same, what is kept, and what can go wrong with the disk."""

import json
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.domain.usage import Usage
from steelyard.judge.anthropic import AnthropicJudge
from steelyard.judge.base import About, JudgeError, JudgeRequest, Line, Reply
from steelyard.judge.cache import CachedLine, ReplyCache, caching, key_of
from steelyard.judge.canned import CannedJudge
from steelyard.judge.consult import consult
from steelyard.judge.jury import Jury
from steelyard.judge.openai import OpenAIJudge
from tests.judge.support import ABOUT, Asked, Played, Raw, Scripted, Watch, a_run, alone, answer, raw_model, said, wire
from tests.judge.support import request_for as question

REQUEST = question()
GOOD = Reply(json.dumps(answer(REQUEST.case)), None, "m-1", Usage(input_tokens=7, output_tokens=3, cost_usd=0.5))
NOW = Watch().around()


def line_of(tmp_path: Path, *script: Reply | JudgeError | Exception) -> tuple[CachedLine, Played]:
    """A cached line and the one behind it."""
    behind = Played(list(script))
    return CachedLine(Scripted(), behind, ReplyCache(tmp_path / "cache"), {}), behind


def test_the_same_question_is_asked_once(tmp_path: Path) -> None:
    """The second verdict is the same, says that it is from the cache, and costs nothing."""
    line, behind = line_of(tmp_path, GOOD)
    judge = Scripted()

    first, second = (consult(judge, line, REQUEST, NOW) for _ in range(2))

    assert len(behind.asked) == 1
    assert (first.cached, first.cost_usd, first.input_tokens) == (False, 0.5, 7)
    assert (second.cached, second.cost_usd, second.input_tokens) == (True, 0.0, 0)
    footprint = {"cached", "cost_usd", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"}
    assert first.model_dump(exclude=footprint) == second.model_dump(exclude=footprint)


def test_structured_replies_are_kept_too(tmp_path: Path) -> None:
    """An object comes back as an object."""
    line, behind = line_of(tmp_path, Reply("", answer(REQUEST.case), "m-1"))

    assert line.ask(REQUEST).value == line.ask(REQUEST).value == answer(REQUEST.case)
    assert len(behind.asked) == 1


@pytest.mark.parametrize("bad", ["", "I pass.", json.dumps(answer("0000000000000000")), "{" * 10_000])
def test_a_reply_that_cannot_be_read_is_not_kept(tmp_path: Path, bad: str) -> None:
    """It is asked for again each time, so that one bad day is not for ever."""
    line, behind = line_of(tmp_path, Reply(bad), GOOD)

    assert not line.ask(REQUEST).cached
    assert line.ask(REQUEST) == GOOD
    assert line.ask(REQUEST).cached
    assert len(behind.asked) == 2


def test_troubles_are_not_kept(tmp_path: Path) -> None:
    """A service that was busy is asked again."""
    line, _ = line_of(tmp_path, JudgeError("busy", "429"), GOOD)

    with pytest.raises(JudgeError):
        line.ask(REQUEST)
    assert line.ask(REQUEST) == GOOD


def test_what_makes_a_question_another() -> None:
    """Backend, model, settings, address, prompt, schema and a refused reply count; patience and prices do not."""
    judge, env = AnthropicJudge(), {"ANTHROPIC_API_KEY": "k"}
    base = key_of(judge, REQUEST, env)
    same = [
        key_of(AnthropicJudge(timeout_s=5, max_retries=1, concurrency=2), REQUEST, {"ANTHROPIC_API_KEY": "other"}),
        key_of(judge, replace(REQUEST, about=About("x", "y", 3, rival="z")), env),
    ]
    others = [
        key_of(OpenAIJudge(model=judge.model_name), REQUEST, env),
        key_of(AnthropicJudge(model="m"), REQUEST, env),
        key_of(AnthropicJudge(max_tokens=512), REQUEST, env),
        key_of(judge, REQUEST, {**env, "ANTHROPIC_BASE_URL": "http://elsewhere"}),
        key_of(judge, question(a_run(trajectory=said("hello"))), env),
        key_of(judge, replace(REQUEST, schema={}), env),
        key_of(judge, replace(REQUEST, system="other"), env),
        key_of(judge, REQUEST.again("hm", "why"), env),
    ]

    assert set(same) == {base}
    assert len({base, *others}) == 1 + len(others)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"key": "x", "text": 1, "value": 2}'])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, damage: bytes) -> None:
    """It is asked again, and the file is whole afterwards."""
    line, behind = line_of(tmp_path, GOOD)
    line.ask(REQUEST)
    (file,) = (tmp_path / "cache").glob("??/*.json")
    file.write_bytes(damage)

    assert not line.ask(REQUEST).cached
    assert line.ask(REQUEST).cached
    assert len(behind.asked) == 2


def test_a_file_under_another_name_is_not_taken(tmp_path: Path) -> None:
    """A reply counts for the question that it was given to."""
    line, behind = line_of(tmp_path, GOOD)
    line.ask(REQUEST)
    (file,) = (tmp_path / "cache").glob("??/*.json")
    other = question(a_run(trajectory=said("hello")))
    place = ReplyCache(tmp_path / "cache")._path(key_of(Scripted(), other, {}))
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(file.read_bytes())

    line.ask(other)

    assert len(behind.asked) == 2


def test_a_disk_that_refuses_stops_nobody(tmp_path: Path) -> None:
    """Where no directory can be made, every question is asked."""
    (tmp_path / "cache").write_text("a file in the way")
    line, behind = line_of(tmp_path, GOOD)

    assert [line.ask(REQUEST).cached for _ in range(2)] == [False, False]
    assert len(behind.asked) == 2


def test_nothing_half_written_stays(tmp_path: Path) -> None:
    """Only whole files, readable by their owner alone."""
    line, _ = line_of(tmp_path, GOOD)
    line.ask(REQUEST)
    files = list((tmp_path / "cache").glob("??/*"))

    assert [file.suffix for file in files] == [".json"]
    assert files[0].stat().st_mode & 0o077 == 0


def test_the_longest_unused_go_first(tmp_path: Path) -> None:
    """Past the bound a quarter goes; what was read lately stays."""
    cache = ReplyCache(tmp_path, most_files=8)
    keys = [f"{number:02x}" + "0" * 62 for number in range(10)]
    for age, key in enumerate(keys):
        cache.put(key, GOOD)
        os.utime(cache._path(key), (1000 + age, 1000 + age))
    assert cache.get(keys[0]) is not None  # it is the newest now

    assert cache.shrink() == 4

    assert [cache.get(key) is not None for key in keys] == [True, *[False] * 4, *[True] * 5]
    assert ReplyCache(tmp_path, most_bytes=1).shrink() == 6


class Slow(Line):
    """Answers when it is let."""

    def __init__(self) -> None:
        self.asked, self.entered, self.go = 0, threading.Event(), threading.Event()

    def ask(self, request: JudgeRequest) -> Reply:
        """Wait for leave."""
        self.asked += 1
        self.entered.set()
        assert self.go.wait(60)
        return Reply(json.dumps(answer(request.case)))


def test_the_same_question_at_the_same_time_is_asked_once(tmp_path: Path) -> None:
    """Eight threads, one request; nobody is left behind in the list of those who ask."""
    behind = Slow()
    line = CachedLine(Scripted(), behind, ReplyCache(tmp_path), {})
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(line.ask, REQUEST) for _ in range(8)]
        assert behind.entered.wait(60)
        behind.go.set()
        replies = [future.result(60) for future in futures]

    assert behind.asked == 1
    assert sum(not reply.cached for reply in replies) == 1
    assert line._asking == {}


def test_canned_answers_are_never_cached(tmp_path: Path) -> None:
    """They depend on the arm, which stands in no prompt."""
    judge, line = CannedJudge(), Played([GOOD])

    assert caching(tmp_path, {})(judge, line) is line
    assert caching(None, {})(Scripted(), line) is line
    assert isinstance(caching(tmp_path, {})(Scripted(), line), CachedLine)


@pytest.mark.parametrize("judge", [AnthropicJudge(model="m-1"), OpenAIJudge(model="m-1")])
def test_a_real_service_is_asked_once(tmp_path: Path, judge: AnthropicJudge | OpenAIJudge) -> None:
    """By the SDK, over two juries: the second hears it from the disk."""

    def reply(asked: Asked) -> Raw:
        del asked
        return wire(judge.type, json.dumps(answer(REQUEST.case)))

    def judged(env: Mapping[str, str]) -> tuple[str, bool]:
        with Jury(alone(judge), env, NOW, caching(tmp_path, env)) as jury:
            result = jury.judge(a_run(), ABOUT)
        assert result is not None
        return result.verdict, result.cached

    with raw_model(reply) as model:
        found = [judged(model.env) for _ in range(2)]
        count = len(model.asked)

    assert found == [("PASS", False), ("PASS", True)]
    assert count == 1
