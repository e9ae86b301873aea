"""One run: its gates, and tabs for the trace, the diff, the stages and everything raw."""

import json
import shlex
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from steelyard.domain.record import JsonObject
from steelyard.errors import InputError, SteelyardError
from steelyard.formulas.records import record_of
from steelyard.store.errors import NotFoundError
from steelyard.store.rows import StoredRun
from steelyard.web.answers import answer
from steelyard.web.api.runs import read_run
from steelyard.web.auth import caller_of
from steelyard.web.documents import run_document
from steelyard.web.pages import trace
from steelyard.web.pages.cards import SENTENCES, gates, judge_card, newest_scorers, scorecard_card, scorers_card
from steelyard.web.pages.columns import run_address
from steelyard.web.pages.kept import Kept
from steelyard.web.pages.shell import render
from steelyard.web.problems import ProblemError

if TYPE_CHECKING:
    from steelyard.web.service import Service

RAW = 60_000  # characters of JSON on the page; the rest is behind its link
TABS = (("", "Agent Trace"), ("diff", "Diff"), ("stages", "Stages"), ("files", "Files & raw"))


def router(service: "Service") -> APIRouter:
    """The routes."""
    routes = APIRouter()
    traces = Kept(service.store.artifact, trace.parse_trace)

    @routes.get("/runs/{run_id}")
    def agent_trace(request: Request, run_id: str) -> Response:
        """Cards and trajectory."""
        stored = read_run(service, run_id, caller_of(request.scope))
        card = stored.scorecard
        judged = stored.judgements[-1] if stored.judgements else None
        return render(
            request,
            "run_trace.html",
            **head(stored, ""),
            scorers=scorers_card(stored),
            judge=None if judged is None else judge_card(judged),
            scorecard=None if card is None else scorecard_card(card),
            trajectory=_trajectory(traces, stored, dict(request.query_params)),
        )

    @routes.get("/runs/{run_id}/steps.json")
    def steps(request: Request, run_id: str) -> Response:
        """A page of steps as they are stored: what the trajectory on the page is a view of."""
        stored = read_run(service, run_id, caller_of(request.scope))
        sha = stored.run.artifacts.get("trajectory")
        if sha is None:
            raise NotFoundError(f"run {run_id[:80]} has no trajectory")
        found = traces.get(sha)
        indexes, total, start = _picked(found, dict(request.query_params))
        document = {"total": total, "from": start, "steps": [found.steps[index] for index in indexes]}
        return answer(request, document)

    @routes.get("/runs/{run_id}/stages")
    def stages(request: Request, run_id: str) -> Response:
        """Attempts and what they printed."""
        stored = read_run(service, run_id, caller_of(request.scope))
        return render(request, "run_stages.html", **head(stored, "stages"))

    @routes.get("/runs/{run_id}/files")
    def files(request: Request, run_id: str) -> Response:
        """Artifacts, the record, and how to run it again."""
        stored = read_run(service, run_id, caller_of(request.scope))
        raw = json.dumps(run_document(stored), ensure_ascii=False, indent=1)
        shown = {"artifacts": _artifacts(service, stored), "raw": raw[:RAW], "raw_rest": max(0, len(raw) - RAW)}
        return render(request, "run_files.html", **head(stored, "files"), **shown, commands=_commands(service, stored))

    @routes.get("/runs/{run_id}/artifacts/{name}")
    def artifact(request: Request, run_id: str, name: str) -> Response:
        """An artifact to keep: never shown by the browser as anything."""
        stored = read_run(service, run_id, caller_of(request.scope))
        sha = stored.run.artifacts.get(name)
        if sha is None:
            known = ", ".join(stored.run.artifacts) or "none"
            raise ProblemError("not-found", f"the run has no artifact {name[:80]!r}; it has: {known}")
        safe = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name)[:80]
        headers = {
            "Content-Disposition": f'attachment; filename="{safe}.txt"',
            "Content-Security-Policy": "sandbox; default-src 'none'",
        }
        return Response(service.store.artifact(sha), headers=headers, media_type="application/octet-stream")

    return routes


def head(stored: StoredRun, tab: str) -> JsonObject:
    """What stands above every tab of a run."""
    run = stored.run
    base = run_address(run.run_id)
    return {
        "title": f"{run.task_id} · {run.arm} #{run.repeat}",
        "here": "runs",
        "twin": f"/v1{base}{'/diff' if tab == 'diff' else ''}",
        "run": run,
        "stored": stored,
        "stated": None if run.imported is None else record_of(run),
        "gates": gates(stored.gates, newest_scorers(stored), run.error_class),
        "sentence": SENTENCES.get(stored.gates.disagreement or ""),
        "tabs": [(name, title, run_address(run.run_id, name), name == tab) for name, title in TABS],
        "base": base,
    }


def _trajectory(traces: "Kept[trace.Trace]", stored: StoredRun, params: dict[str, str]) -> JsonObject:
    """The part of the trajectory that is asked for, or why there is none."""
    sha = stored.run.artifacts.get("trajectory")
    if sha is None:
        return {"missing": "This agent left no trajectory. Its final response, if it gave one, is above."}
    try:
        found = traces.get(sha)
    except SteelyardError as error:
        return {"missing": f"The trajectory can't be shown: {error}"}
    try:
        indexes, total, start = _picked(found, params)
    except InputError as error:
        return {"missing": str(error)}
    whole = params.get("only", "").isdigit()
    return {
        "missing": None,
        "steps": trace.view(found, indexes, whole=whole),
        "start": start,
        "total": total,
        "page": trace.PAGE,
        "all": len(found.steps),
        "errors": len(found.errors),
        "query": params.get("q", ""),
        "only": params.get("only", ""),
    }


def _picked(found: trace.Trace, params: dict[str, str]) -> tuple[list[int], int, int]:
    only, step = params.get("only", ""), params.get("step", "0")
    if not step.isdigit() or len(step) > 12:
        raise InputError(f"step: {step[:40]!r} is not the number of a step")
    if only.isdigit():
        index = int(only[:12])
        if index >= len(found.steps):
            raise InputError(f"only: there is no step {index}; the last is {len(found.steps) - 1}")
        return [index], 1, 0
    return trace.pick(found, int(step), params.get("q", "").strip()[:200], only)


def _artifacts(service: "Service", stored: StoredRun) -> list[JsonObject]:
    found = []
    for name, sha in sorted(stored.run.artifacts.items()):
        try:
            packed: int | None = service.database.artifacts.path(sha).stat().st_size
        except (OSError, NotFoundError):
            packed = None
        found.append({"name": name, "sha256": sha, "packed": packed})
    return found


def _commands(service: "Service", stored: StoredRun) -> list[tuple[str, str]]:
    """How to run it again and how to look at it, as they can be pasted."""
    run = stored.run
    commands: list[tuple[str, Any]] = [("Everything as JSON", ["steelyard", "show", run.run_id, "--json"])]
    try:
        suite = service.store.experiment(run.experiment).suite_path
    except InputError:
        suite = None
    if suite:
        again = ["steelyard", "run", suite, "--task", run.task_id, "--arm", run.arm, "--repeats", str(run.repeat)]
        if run.parity.sandbox in ("local", "bwrap", "docker"):
            again += ["--sandbox", run.parity.sandbox]
        commands.insert(0, ("Run it again", again))
    if "diff" in run.artifacts:
        commands.append(("The change as a patch", ["steelyard", "show", run.run_id, "--diff"]))
    return [(title, shlex.join(words)) for title, words in commands]
