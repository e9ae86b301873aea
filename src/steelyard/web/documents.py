"""What the API answers: the records that its description promises, made from what is stored."""

import json
from typing import Any, Literal

from pydantic import Field

from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.comparison import Comparison
from steelyard.domain.grade import JudgeResult, ScorerResult, Verdict
from steelyard.domain.record import JsonObject, Record
from steelyard.domain.run import Gates, JudgeGate, Run
from steelyard.domain.score import Axes, Axis, Scorecard, Tier, Weights
from steelyard.domain.suite import Arm, Scenario, Task
from steelyard.formulas.gates import mean_score, overall
from steelyard.formulas.scorecard import FORMULA_VERSION
from steelyard.store.rows import StoredRun, StoredScore
from steelyard.store.scenarios import StoredScenario, StoredTask
from steelyard.web.problems import Problem


class Score(Record):
    """A run's score: the seed's fields first. An infrastructure failure has none and is Unranked."""

    run_id: str
    score: int | None
    tier: Tier
    formula_version: str
    axes: Axes | None
    weights: Weights | None
    defaulted_axes: tuple[Axis, ...]
    version: int | None
    scored_at: str | None


class ShortGates(Record):
    """The three gates of a run in a list."""

    objective: Verdict
    judge: JudgeGate
    run: Literal["PASS", "FAIL"]


class RunSummary(Record):
    """A run in a list."""

    run_id: str
    experiment: str
    workspace: str
    task_id: str
    arm: str
    repeat: int
    attempt: int
    replaced: bool
    status: str
    outcome: str
    error_class: str | None
    infrastructure: bool
    gates: ShortGates
    disagreement: str | None
    failure_mode: str | None
    checks_passed: int
    checks_total: int
    mean_score: float | None
    judge01: float | None
    composite: float | None = Field(description="before the cost adjustment, which needs a pair")
    score: int | None
    tier: Tier
    wall_s: float
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    total_tokens: int | None
    steps: int | None
    tool_calls: int | None
    files_changed: int
    agent: str
    agent_version: str | None
    model: str | None
    tags: tuple[str, ...]
    started_at: str
    finished_at: str
    task_sha256: str


class GradingOut(Record):
    """What the scorers said when a run was graded again."""

    graded_at: str
    objective: str
    scorers: tuple[ScorerResult, ...]


class ScorecardOut(Scorecard):
    """One of a run's scorecards."""

    version: int
    scored_at: str


class RunOut(Run):
    """A run with everything that was measured and said of it."""

    gates: Gates
    overall: Verdict
    mean_score: float | None
    score: int | None
    tier: Tier
    replaced: bool
    scorecards: tuple[ScorecardOut, ...]
    judgements: tuple[JudgeResult, ...]
    gradings: tuple[GradingOut, ...]


class Scorers(Record):
    """A run's scorer results, the newest that were given, with OVERALL and the mean score."""

    run_id: str
    overall: Verdict
    mean_score: float | None
    scorers: tuple[ScorerResult, ...]
    gradings: tuple[GradingOut, ...]


class Judged(Record):
    """The judge's verdicts on a run, oldest first; the last one counts."""

    run_id: str
    gate: JudgeGate
    judgement: JudgeResult | None
    judgements: tuple[JudgeResult, ...]


class ExperimentSummary(Record):
    """An experiment in a list."""

    id: str
    workspace: str
    created_at: str
    suite_path: str | None


class TaskRef(Record):
    """A frozen task of an experiment."""

    id: str
    sha256: str


class ExperimentOut(Record):
    """An experiment: what was planned."""

    id: str
    workspace: str
    created_at: str
    suite_path: str | None
    tasks: tuple[TaskRef, ...]
    arms: tuple[Arm, ...]
    repeats: int
    compare: CompareSpec
    settings: JsonObject


class ScenarioOut(Record):
    """A scenario; `revision` counts its edits."""

    name: str
    workspace: str
    revision: int
    created_at: str
    updated_at: str
    scenario: Scenario


class TaskOut(Record):
    """A frozen task with its whole snapshot."""

    id: str
    workspace: str
    sha256: str
    created_at: str
    task: Task


class Baseline(Record):
    """What latency is measured against: the wall times of the last 20 COMPLETED runs, oldest first, and their p50."""

    workspace: str
    p50_s: float | None
    runs: int
    wall_s: tuple[float, ...]


class WeightsOut(Record):
    """How much each axis counts in a workspace."""

    workspace: str
    weights: Weights


class Health(Record):
    """Whether the server is up, or ready."""

    status: Literal["ok", "unavailable"]


class LineResult(Record):
    """One line of a bulk answer: the score that the run has now, or what is wrong with the line."""

    line: int
    status: int
    run_id: str | None
    score: Score | None
    problem: Problem | None


class RunPage(Record):
    """A page of runs, newest first."""

    data: tuple[RunSummary, ...]
    has_more: bool
    next_cursor: str | None


class ExperimentPage(Record):
    """A page of experiments, newest first."""

    data: tuple[ExperimentSummary, ...]
    has_more: bool
    next_cursor: str | None


class ScenarioPage(Record):
    """A page of scenarios, newest first."""

    data: tuple[ScenarioOut, ...]
    has_more: bool
    next_cursor: str | None


class TaskPage(Record):
    """A page of tasks, newest first."""

    data: tuple[TaskOut, ...]
    has_more: bool
    next_cursor: str | None


ANSWERS: tuple[type[Record], ...] = (
    Problem,
    Score,
    RunPage,
    RunOut,
    Scorers,
    Judged,
    ExperimentPage,
    ExperimentOut,
    Comparison,
    ScenarioPage,
    ScenarioOut,
    TaskPage,
    TaskOut,
    Baseline,
    WeightsOut,
    Health,
    LineResult,
)


def score_document(stored: StoredScore) -> JsonObject:
    """A stored score as the seed has it, with what we add at its end."""
    document = stored.card.model_dump(mode="json", exclude={"inputs"})
    return {**document, "version": stored.version, "scored_at": stored.scored_at}


def unranked(run_id: str) -> JsonObject:
    """The score of a run that has none."""
    return {
        "run_id": run_id,
        "score": None,
        "tier": "Unranked",
        "formula_version": FORMULA_VERSION,
        "axes": None,
        "weights": None,
        "defaulted_axes": [],
        "version": None,
        "scored_at": None,
    }


def summary_document(row: JsonObject) -> JsonObject:
    """A row of a list of runs."""
    shown = {name: row[name] for name in RunSummary.model_fields if name in row}
    shown["gates"] = {"objective": row["objective"], "judge": row["judge"], "run": row["run_gate"]}
    shown["tags"] = json.loads(row["tags"])
    return {**shown, "infrastructure": bool(row["infrastructure"]), "replaced": bool(row["replaced"])}


def run_document(stored: StoredRun) -> JsonObject:
    """A run's record, then what was derived from it or said of it later."""
    run, card = stored.run, stored.scorecard
    return {
        **run.model_dump(mode="json"),
        "gates": stored.gates.model_dump(mode="json"),
        "overall": overall(run.scorers),
        "mean_score": mean_score(run.scorers),
        "score": card.score if card else None,
        "tier": card.tier if card else "Unranked",
        "replaced": stored.replaced,
        "scorecards": [
            {**score.card.model_dump(mode="json"), "version": score.version, "scored_at": score.scored_at}
            for score in stored.scores
        ],
        "judgements": [judged.model_dump(mode="json") for judged in stored.judgements],
        "gradings": gradings(stored),
    }


def gradings(stored: StoredRun) -> list[JsonObject]:
    """What the scorers said when the run was graded again."""
    return [
        {
            "graded_at": grading.graded_at,
            "objective": grading.objective,
            "scorers": [scorer.model_dump(mode="json") for scorer in grading.scorers],
        }
        for grading in stored.gradings
    ]


def scenario_document(stored: StoredScenario) -> JsonObject:
    """A scenario as it is answered."""
    return {
        "name": stored.name,
        "workspace": stored.workspace,
        "revision": stored.revision,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
        "scenario": stored.scenario.model_dump(mode="json"),
    }


def task_document(stored: StoredTask) -> JsonObject:
    """A frozen task as it is answered."""
    return {
        "id": stored.task_id,
        "workspace": stored.workspace,
        "sha256": stored.sha256,
        "created_at": stored.created_at,
        "task": stored.task.model_dump(mode="json"),
    }


def schemas(models: tuple[type[Record], ...], mode: Literal["validation", "serialization"]) -> JsonObject:
    """The JSON Schemas of records, each under its own name, as OpenAPI's components."""
    from pydantic.json_schema import models_json_schema

    _, found = models_json_schema([(m, mode) for m in models], ref_template="#/components/schemas/{model}")
    named: dict[str, Any] = found.get("$defs", {})
    return named
