"""What the cards of a run say: gates, scorers, judge, and the scorecard with how each number came about."""

from dataclasses import dataclass
from typing import Any

from steelyard.domain.grade import JudgeResult, ScorerResult
from steelyard.domain.record import JsonObject
from steelyard.domain.run import Gates
from steelyard.domain.score import Scorecard
from steelyard.formulas.gates import HARD_CONSTRAINT, NOT_CONVINCING, WARNING, mean_score, overall
from steelyard.store.rows import StoredRun
from steelyard.web.pages.columns import TONES
from steelyard.web.pages.text import seconds

SENTENCES = {
    HARD_CONSTRAINT: "The judge finds the result plausible, but a required check failed: it violates a hard "
    "constraint, such as a forbidden path, a limit on changed files or an edited test.",
    NOT_CONVINCING: "The mechanical checks passed, but the judge is not convinced that the task was done.",
    WARNING: "Both passed, but an advisory scorer failed: review the warning.",
}


@dataclass(frozen=True)
class Gate:
    """One of the three gates."""

    title: str
    verdict: str
    note: str

    @property
    def tone(self) -> str:
        """Its colour."""
        return TONES.get(self.verdict, "unknown")


def gates(found: Gates, scorers: tuple[ScorerResult, ...], error_class: str | None) -> list[Gate]:
    """The three gates side by side."""
    required = [s for s in scorers if s.mechanical and s.required and s.verdict != "N/A"]
    passed = sum(s.verdict == "PASS" for s in required)
    objective = f"{passed} of {len(required)} required checks passed" if required else "no required check applies"
    judge = {
        "PASS": "finds the task done",
        "FAIL": "does not find the task done",
        "UNPARSEABLE": "its reply could not be read",
        "NOT_RUN": "did not run",
    }
    run = "completed within its limits" if found.run == "PASS" else error_class or "did not complete"
    return [
        Gate("Objective", found.objective, objective),
        Gate("Judge", found.judge, judge[found.judge]),
        Gate("Run", found.run, run.replace("_", " ")),
    ]


def scorers_card(stored: StoredRun) -> JsonObject | None:
    """The Scorers card; None for a ledger run, which no scorer sees."""
    if stored.run.is_ledger:
        return None
    found = newest_scorers(stored)
    rows = [{"result": each, "open": each.verdict == "FAIL" and each.required and each.mechanical} for each in found]
    graded = stored.gradings[-1].graded_at if stored.gradings else None
    return {"overall": overall(found), "mean": mean_score(found), "rows": rows, "graded_at": graded}


def newest_scorers(stored: StoredRun) -> tuple[ScorerResult, ...]:
    """What the scorers said last."""
    return stored.gradings[-1].scorers if stored.gradings else stored.run.scorers


def judge_card(judged: JudgeResult) -> JsonObject:
    """The Judge card."""
    ratings = (
        ("Task completion", judged.task_completion),
        ("Instruction adherence", judged.instruction_adherence),
        ("Efficiency", judged.efficiency),
    )
    return {"judged": judged, "ratings": ratings, "judge01": judged.judge01}


def scorecard_card(card: Scorecard) -> JsonObject:
    """The axes with their weights, and in words what each was made of."""
    words = {
        "completion": _completion(card),
        "error_rate": _error_rate(card.inputs),
        "latency": _latency(card.inputs),
        "resource_efficiency": _resources(card.inputs),
    }
    axes = [
        {
            "title": name.replace("_", " ").capitalize(),
            "value": getattr(card.axes, name),
            "weight": getattr(card.weights, name),
            "part": getattr(card.axes, name) * getattr(card.weights, name),
            "defaulted": name in card.defaulted_axes,
            "how": words[name],
        }
        for name in type(card.axes).model_fields
    ]
    return {"card": card, "axes": axes, "total": sum(axis["part"] for axis in axes)}


def _completion(card: Scorecard) -> str:
    return f"outcome {card.inputs.get('outcome', 'unknown')}: COMPLETED is 100, BLOCKED 30, FAILED 0"


def _error_rate(inputs: JsonObject) -> str:
    stages = [s for s in inputs.get("stages") or [] if isinstance(s, list) and len(s) == 3 and _real(s[1]) and s[1] > 0]
    if not stages:
        return "no stage was executed: 50"
    first = sum(bool(passed) and attempts == 1 for _, attempts, passed in stages)
    return f"{first} of {len(stages)} stages passed at the first attempt"


def _latency(inputs: JsonObject) -> str:
    wall, p50 = inputs.get("wall_s"), inputs.get("p50_s")
    if not _real(wall) or not _real(p50) or not p50:
        known = inputs.get("history_runs", 0)
        return f"no baseline yet ({known} completed runs before this one, 5 are needed): 50"
    return f"{seconds(wall)} against a usual {seconds(p50)}: ratio {wall / p50:.2f}; 100 · (3 − ratio) / 2.5, clamped"


def _resources(inputs: JsonObject) -> str:
    peak, limit = inputs.get("peak_memory_mb"), inputs.get("memory_limit_mb")
    periods, throttled = inputs.get("cpu_periods"), inputs.get("cpu_throttled_periods")
    memory = f"{peak:,.0f} of {limit:,.0f} MB" if _real(peak) and _real(limit) else "memory unknown: 50"
    cpu = "processor unknown: 50"
    if _real(periods) and (not periods or _real(throttled)):
        cpu = f"{throttled or 0:,} of {periods:,} processor periods throttled"
    return f"0.7 · memory ({memory}) + 0.3 · processor ({cpu})"


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
