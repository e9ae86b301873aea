"""Between records and rows: what a run's columns hold, and what comes back from them."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from steelyard.domain.grade import JudgeResult, ScorerResult
from steelyard.domain.record import JsonObject, canonical_json
from steelyard.domain.run import Gates, Run
from steelyard.domain.score import Axes, Scorecard, Weights
from steelyard.errors import InputError
from steelyard.formulas.composite import composite_of, judge01_of
from steelyard.formulas.gates import gates_of, mean_score, objective_counts

if TYPE_CHECKING:
    from sqlalchemy import RowMapping


@dataclass(frozen=True)
class StoredScore:
    """One immutable row of `agent_run_scores`."""

    version: int
    scored_at: str
    card: Scorecard


@dataclass(frozen=True)
class Grading:
    """What the scorers said when the run was graded again."""

    graded_at: str
    objective: str
    scorers: tuple[ScorerResult, ...]


@dataclass(frozen=True)
class StoredRun:
    """A run with everything that was said of it later; the newest score and judgement are the last ones."""

    seq: int
    run: Run
    gates: Gates
    scores: tuple[StoredScore, ...]
    judgements: tuple[JudgeResult, ...]
    gradings: tuple[Grading, ...]
    replaced: bool

    @property
    def scorecard(self) -> Scorecard | None:
        """The newest scorecard; None for an infrastructure failure, which is Unranked."""
        return self.scores[-1].card if self.scores else None


def instant(text: str, what: str = "time") -> str:
    """An ISO 8601 instant in UTC, all of one width, so that texts sort as times."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{what} {text[:60]!r} is not an ISO 8601 time, such as 2026-01-31T12:00:00Z") from None
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except OverflowError:
        raise InputError(f"{what} {text[:60]!r} is out of range; years 1 to 9999 are allowed") from None


def run_row(run: Run, record: str, tags: tuple[str, ...]) -> JsonObject:
    """The columns of a run, all but its score."""
    gates = gates_of(run)
    usage, parity = run.usage, run.parity
    passed, total = objective_counts(run.scorers)
    return {
        **{name: getattr(run, name) for name in _SAME},
        **{name: getattr(usage, name) for name in _USAGE},
        "infrastructure": int(run.is_infrastructure),
        "replaced": 0,
        "objective": gates.objective,
        "judge": gates.judge,
        "run_gate": gates.run,
        "disagreement": gates.disagreement,
        "failure_mode": run.judge.failure_mode if run.judge else None,
        "judge01": judge01_of(run),
        "composite": round(composite_of(run), 6),
        "checks_passed": passed,
        "checks_total": total,
        "mean_score": mean_score(run.scorers),
        "files_changed": len(run.changed_files),
        "agent": parity.agent,
        "agent_version": parity.agent_version,
        "model": parity.model,
        "tags": canonical_json(list(tags)),
        "started_at": instant(run.started_at, "started_at"),
        "finished_at": instant(run.finished_at, "finished_at"),
        "record": record,
    }


_SAME = [
    "run_id",
    "workspace",
    "experiment",
    "task_id",
    "arm",
    "repeat",
    "attempt",
    "task_sha256",
    "status",
    "outcome",
    "error_class",
    "wall_s",
]
_USAGE = [
    "cost_usd",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "total_tokens",
    "steps",
    "tool_calls",
]


def score_row(card: Scorecard, version: int, scored_at: str) -> JsonObject:
    """A scorecard as a row of `agent_run_scores`."""
    return {
        "run_id": card.run_id,
        "version": version,
        "score": card.score,
        "tier": card.tier,
        "formula_version": card.formula_version,
        **card.axes.model_dump(),
        "weights": canonical_json(card.weights.model_dump()),
        "defaulted_axes": canonical_json(list(card.defaulted_axes)),
        "inputs": canonical_json(card.inputs),
        "scored_at": instant(scored_at, "scored_at"),
    }


def stored_score(row: "RowMapping") -> StoredScore:
    """A row of `agent_run_scores` as a scorecard."""
    card = Scorecard(
        run_id=row["run_id"],
        score=row["score"],
        tier=row["tier"],
        formula_version=row["formula_version"],
        axes=Axes(**{name: row[name] for name in Axes.model_fields}),
        weights=Weights.model_validate_json(row["weights"]),
        defaulted_axes=tuple(json.loads(row["defaulted_axes"])),
        inputs=json.loads(row["inputs"]),
    )
    return StoredScore(version=row["version"], scored_at=row["scored_at"], card=card)


def scored_event(card: Scorecard, workspace: str, version: int) -> JsonObject:
    """What `agent.run.scored` tells."""
    return {
        "run_id": card.run_id,
        "workspace": workspace,
        "score": card.score,
        "tier": card.tier,
        "axes": card.axes.model_dump(),
        "weights": card.weights.model_dump(),
        "formula_version": card.formula_version,
        "defaulted_axes": list(card.defaulted_axes),
        "version": version,
    }


def scorer_results(record: str) -> tuple[ScorerResult, ...]:
    """The scorer results of a grading row."""
    return tuple(ScorerResult.model_validate(item, strict=False) for item in json.loads(record))
