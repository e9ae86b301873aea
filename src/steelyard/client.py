"""A client of a Steelyard server: `Client` waits, `AsyncClient` is awaited; both say the same.

Every call can be made again without harm (a run is known by its id), so connection errors, 429 and 5xx are tried
again, after as long as the server asks for.
"""

import asyncio
import base64
import json
import random
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Self

from steelyard.domain.experiment import Experiment
from steelyard.domain.record import JsonObject
from steelyard.domain.run import Run
from steelyard.errors import InputError, MeasureError

try:
    import httpx
except ImportError:  # pragma: no cover  # depends on what is installed
    raise InputError("the client needs the extra: pip install 'steelyard[client]'") from None

AGAIN = frozenset([408, 429, 500, 502, 503, 504])
LONGEST_WAIT_S = 60.0
BULK = 200  # runs in one request of a bulk


class ServerError(MeasureError):
    """The server could not be reached, or went on answering that it can't."""


class RefusedByServer(InputError):  # noqa: N818  # reads as what happened
    """The server said no; `problem` is its problem document."""

    def __init__(self, status: int, problem: JsonObject) -> None:
        super().__init__(
            f"the server answered {status}: {problem.get('detail') or problem.get('title') or 'no reason'}"
        )
        self.status = status
        self.problem = problem


@dataclass(frozen=True)
class _Call:
    """One request, and whether its answer is JSON, NDJSON or text."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | None = None
    media: str = "application/json"
    answer: str = "json"


def _post(path: str, document: Any) -> _Call:
    return _Call("POST", path, body=json.dumps(document, ensure_ascii=False, allow_nan=False).encode())


def _run(run_id: str, part: str = "", answer: str = "json") -> _Call:
    from urllib.parse import quote

    return _Call("GET", f"/v1/runs/{quote(run_id, safe='')}{part}", answer=answer)


def _bulk(documents: Iterable[JsonObject]) -> _Call:
    lines = b"".join(json.dumps(d, ensure_ascii=False, allow_nan=False).encode() + b"\n" for d in documents)
    return _Call("POST", "/v1/runs/bulk", body=lines, media="application/x-ndjson", answer="lines")


class _Shared:
    """What both clients are made of."""

    def __init__(self, url: str, token: str | None, timeout_s: float, retries: int) -> None:
        if not url.startswith(("http://", "https://")):
            raise InputError(f"{url[:200]!r} is not the address of a server; example: https://steelyard.example:8321")
        self.url = url.rstrip("/")
        self.retries = retries
        self.options: dict[str, Any] = {"base_url": self.url, "timeout": timeout_s, "headers": {}}
        if token:
            self.options["headers"]["Authorization"] = f"Bearer {token}"

    def _request(self, call: _Call) -> dict[str, Any]:
        params = {name: value for name, value in call.params.items() if value is not None}
        headers = {"Content-Type": call.media} if call.body is not None else {}
        made = {"method": call.method, "url": call.path, "params": params, "content": call.body}
        return {**made, "headers": headers}

    def _wait(self, tries: int, response: "httpx.Response | None", error: Exception | None) -> float | None:
        """How long to wait before the next try; None when the answer stands. Out of tries, it is an error."""
        if response is not None and response.status_code not in AGAIN:
            return None
        if tries >= self.retries:
            said = f"it answers {response.status_code}" if response is not None else str(error) or type(error).__name__
            raise ServerError(
                f"{self.url} can't be reached or can't answer: {said} (tried {tries + 1} times)"
            ) from error
        asked = response.headers.get("retry-after", "") if response is not None else ""
        if asked.isdigit():
            return min(float(asked), LONGEST_WAIT_S)
        return _pause_s(tries)


def _pause_s(tries: int) -> float:
    """Twice as long with each try, and never in step with others."""
    return float(min(0.2 * 2**tries, 10.0) * (0.5 + random.random()))


def _to_send_again(results: list[JsonObject]) -> list[int]:
    """The places of lines that the server could not deal with just then."""
    return [place for place, result in enumerate(results) if result["status"] in AGAIN]


def _put_in(results: list[JsonObject], places: list[int], newer: list[JsonObject]) -> None:
    """Newer results in the places of those that were sent again."""
    for place, result in zip(places, newer, strict=False):
        results[place] = {**result, "line": place + 1}


def _numbered(results: list[JsonObject], sent: int, line: int) -> Iterator[JsonObject]:
    """Results with their lines counted through; an error when the server ended before it had dealt with all."""
    for result in results:
        yield {**result, "line": result["line"] + line}
    if len(results) < sent:
        last: JsonObject = results[-1] if results else {"status": 500, "problem": None}
        raise RefusedByServer(last["status"], last["problem"] or {"detail": "the bulk ended early"})


def _decoded(call: _Call, response: "httpx.Response") -> Any:
    if response.status_code >= 400:
        try:
            problem = response.json()
        except ValueError:
            problem = {}
        raise RefusedByServer(response.status_code, problem if isinstance(problem, dict) else {})
    if call.answer == "lines":
        return [json.loads(line) for line in response.text.split("\n") if line]
    return response.text if call.answer == "text" else response.json()


class Client(_Shared):
    """Reports runs to a server and reads from it; use it in a `with` block, or close it. Threads may share it."""

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 30.0, retries: int = 5) -> None:
        super().__init__(url, token, timeout_s, retries)
        self._http = httpx.Client(**self.options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def _do(self, call: _Call) -> Any:
        for tries in range(self.retries + 1):
            response, failure = None, None
            try:
                response = self._http.request(**self._request(call))
            except httpx.TransportError as error:
                failure = error
            wait = self._wait(tries, response, failure)
            if wait is None and response is not None:
                return _decoded(call, response)
            time.sleep(wait or 0)
        raise AssertionError("the last try ends above")

    def add_run(self, document: JsonObject) -> JsonObject:
        """Report a finished run; its score. The same run again is answered with the same score."""
        answer: JsonObject = self._do(_post("/v1/runs", document))
        return answer

    def add_runs(self, documents: Iterable[JsonObject]) -> Iterator[JsonObject]:
        """Report many; a result for each, in their order: `{line, status, run_id, score, problem}`."""
        rest, line = iter(documents), 0
        while batch := list(islice(rest, BULK)):
            results = self._do(_bulk(batch))
            for tries in range(self.retries):
                places = _to_send_again(results)
                if not places:
                    break
                time.sleep(_pause_s(tries))
                _put_in(results, places, self._do(_bulk([batch[place] for place in places])))
            yield from _numbered(results, len(batch), line)
            line += len(batch)

    def add_experiment(self, experiment: Experiment, *, workspace: str | None = None) -> JsonObject:
        """Tell what was planned, so that its runs are compared as they were meant to be."""
        answer: JsonObject = self._do(_post("/v1/experiments", experiment_body(experiment, workspace)))
        return answer

    def score(self, run_id: str) -> JsonObject:
        """A run's newest score."""
        answer: JsonObject = self._do(_run(run_id, "/score"))
        return answer

    def run(self, run_id: str) -> JsonObject:
        """A run with everything that was measured and said of it."""
        answer: JsonObject = self._do(_run(run_id))
        return answer

    def diff(self, run_id: str) -> str:
        """What the agent changed."""
        return str(self._do(_run(run_id, "/diff", "text")))

    def trace(self, run_id: str) -> JsonObject:
        """What the agent said and did."""
        answer: JsonObject = self._do(_run(run_id, "/trace"))
        return answer

    def runs(self, **filters: str | int | None) -> Iterator[JsonObject]:
        """Every run that matches, newest first, page by page: `runs(arm="plain", tier="Gold")`."""
        cursor: str | None = None
        while True:
            found = self._do(_Call("GET", "/v1/runs", {**filters, "cursor": cursor}))
            yield from found["data"]
            cursor = found["next_cursor"]
            if cursor is None:
                return

    def comparison(self, experiment: str, **chosen: str | int | None) -> JsonObject:
        """Two arms of an experiment weighed against each other."""
        answer: JsonObject = self._do(_Call("GET", f"/v1/experiments/{experiment}/comparison", chosen))
        return answer


class AsyncClient(_Shared):
    """The same, to be awaited; use it in an `async with` block."""

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 30.0, retries: int = 5) -> None:
        super().__init__(url, token, timeout_s, retries)
        self._http = httpx.AsyncClient(**self.options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back."""
        await self._http.aclose()

    async def _do(self, call: _Call) -> Any:
        for tries in range(self.retries + 1):
            response, failure = None, None
            try:
                response = await self._http.request(**self._request(call))
            except httpx.TransportError as error:
                failure = error
            wait = self._wait(tries, response, failure)
            if wait is None and response is not None:
                return _decoded(call, response)
            await asyncio.sleep(wait or 0)
        raise AssertionError("the last try ends above")

    async def add_run(self, document: JsonObject) -> JsonObject:
        """Report a finished run; its score."""
        answer: JsonObject = await self._do(_post("/v1/runs", document))
        return answer

    async def add_runs(self, documents: Iterable[JsonObject]) -> AsyncIterator[JsonObject]:
        """Report many; a result for each, in their order."""
        rest, line = iter(documents), 0
        while batch := list(islice(rest, BULK)):
            results = await self._do(_bulk(batch))
            for tries in range(self.retries):
                places = _to_send_again(results)
                if not places:
                    break
                await asyncio.sleep(_pause_s(tries))
                _put_in(results, places, await self._do(_bulk([batch[place] for place in places])))
            for result in _numbered(results, len(batch), line):
                yield result
            line += len(batch)

    async def add_experiment(self, experiment: Experiment, *, workspace: str | None = None) -> JsonObject:
        """Tell what was planned."""
        answer: JsonObject = await self._do(_post("/v1/experiments", experiment_body(experiment, workspace)))
        return answer

    async def score(self, run_id: str) -> JsonObject:
        """A run's newest score."""
        answer: JsonObject = await self._do(_run(run_id, "/score"))
        return answer

    async def run(self, run_id: str) -> JsonObject:
        """A run with everything that was measured and said of it."""
        answer: JsonObject = await self._do(_run(run_id))
        return answer

    async def diff(self, run_id: str) -> str:
        """What the agent changed."""
        return str(await self._do(_run(run_id, "/diff", "text")))

    async def trace(self, run_id: str) -> JsonObject:
        """What the agent said and did."""
        answer: JsonObject = await self._do(_run(run_id, "/trace"))
        return answer

    async def runs(self, **filters: str | int | None) -> AsyncIterator[JsonObject]:
        """Every run that matches, newest first, page by page."""
        cursor: str | None = None
        while True:
            found = await self._do(_Call("GET", "/v1/runs", {**filters, "cursor": cursor}))
            for row in found["data"]:
                yield row
            cursor = found["next_cursor"]
            if cursor is None:
                return

    async def comparison(self, experiment: str, **chosen: str | int | None) -> JsonObject:
        """Two arms of an experiment weighed against each other."""
        answer: JsonObject = await self._do(_Call("GET", f"/v1/experiments/{experiment}/comparison", chosen))
        return answer


def run_body(run: Run, blobs: Mapping[str, bytes]) -> JsonObject:
    """A run as `add_run` sends it, with its artifacts; give it the stored run, whose secrets are redacted.

    The workspace is left out: it is the token's.
    """
    body = run.model_dump(mode="json", exclude={"workspace", "artifacts", "imported"}, exclude_none=True)
    if not run.experiment:
        del body["experiment"]
    if len(run.task_sha256) != 64:
        del body["task_sha256"]
    body["timings"].pop("received_at", None)
    body["artifacts"] = {name: base64.b64encode(data).decode() for name, data in blobs.items()}
    return body


def experiment_body(experiment: Experiment, workspace: str | None = None) -> JsonObject:
    """An experiment as `add_experiment` sends it; a workspace is named only where no token has one."""
    body = experiment.model_dump(mode="json", exclude={"workspace", "tasks"})
    body["tasks"] = [frozen.task.model_dump(mode="json") for frozen in experiment.tasks]
    return body if workspace is None else {**body, "workspace": workspace}
