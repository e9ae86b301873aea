"""The three gates of a run, none of which subsumes another, and the name of their disagreement."""

import math
from collections.abc import Sequence

from steelyard.domain.grade import JudgeResult, ScorerResult, Verdict
from steelyard.domain.run import Gates, JudgeGate, Run

HARD_CONSTRAINT = "plausible but violates a hard constraint"
NOT_CONVINCING = "mechanical pass, not convincing"
WARNING = "review the warning"


def overall(results: Sequence[ScorerResult]) -> Verdict:
    """FAIL if any required applicable mechanical scorer fails; N/A if no mechanical scorer applies; else PASS."""
    applicable = _applicable(results)
    if not applicable:
        return "N/A"
    return "FAIL" if any(result.required and result.verdict == "FAIL" for result in applicable) else "PASS"


def objective_counts(results: Sequence[ScorerResult]) -> tuple[int, int]:
    """How many required applicable mechanical scorers passed, and how many there are."""
    gating = [result for result in _applicable(results) if result.required]
    return sum(result.verdict == "PASS" for result in gating), len(gating)


def mean_score(results: Sequence[ScorerResult]) -> float | None:
    """The mean score over applicable mechanical scorers, advisory ones too; None when none applies."""
    scores = [_score(result) for result in _applicable(results)]
    return min(1.0, math.fsum(scores) / len(scores)) if scores else None


def judge_gate(judge: JudgeResult | None) -> JudgeGate:
    """What the judge said, or that it did not run."""
    return "NOT_RUN" if judge is None else judge.verdict


def gates_of(run: Run) -> Gates:
    """The gates of a finished run. The badge passes when it completed without error and inside its limits."""
    objective, judge = overall(run.scorers), judge_gate(run.judge)
    return Gates(
        objective=objective,
        judge=judge,
        run="PASS" if run.status == "completed" and run.error_class is None else "FAIL",
        disagreement=disagreement(objective, judge, run.scorers),
    )


def disagreement(objective: Verdict, judge: JudgeGate, results: Sequence[ScorerResult]) -> str | None:
    """What it is called when programs, the judge and warnings do not say the same; None when they do."""
    if objective == "FAIL" and judge == "PASS":
        return HARD_CONSTRAINT
    if objective == "PASS" and judge == "FAIL":
        return NOT_CONVINCING
    if objective == judge == "PASS" and any(r.verdict == "FAIL" and not r.required for r in _applicable(results)):
        return WARNING
    return None


def _applicable(results: Sequence[ScorerResult]) -> list[ScorerResult]:
    return [r for r in results if r.mechanical and not r.quarantined and r.verdict != "N/A"]


def _score(result: ScorerResult) -> float:
    """A scorer of an outside package may leave its score out: its verdict then counts."""
    return result.score if result.score is not None else float(result.verdict == "PASS")
