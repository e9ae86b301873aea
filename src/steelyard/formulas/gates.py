"""The three gates of a run, none of which subsumes another, and what their disagreement is called."""

from collections.abc import Iterable

from steelyard.domain.grade import ScorerResult, Verdict
from steelyard.domain.run import Gates, JudgeGate, Run

HARD_CONSTRAINT = "plausible but violates a hard constraint"
NOT_CONVINCING = "mechanical pass, not convincing"
WARNING = "review the warning"


def _applicable(scorers: Iterable[ScorerResult]) -> list[ScorerResult]:
    return [scorer for scorer in scorers if scorer.mechanical and scorer.verdict != "N/A"]


def overall(scorers: Iterable[ScorerResult]) -> Verdict:
    """FAIL if any required mechanical scorer that applies fails; N/A if none applies; else PASS."""
    applicable = _applicable(scorers)
    if any(scorer.required and scorer.verdict == "FAIL" for scorer in applicable):
        return "FAIL"
    return "PASS" if applicable else "N/A"


def mean_score(scorers: Iterable[ScorerResult]) -> float | None:
    """The mean over the mechanical scorers that apply and have a score; None without any."""
    scores = [scorer.score for scorer in _applicable(scorers) if scorer.score is not None]
    return sum(scores) / len(scores) if scores else None


def gates_of(run: Run) -> Gates:
    """Objective, judge and run gate, with the name of their disagreement where they disagree."""
    objective = overall(run.scorers)
    judge: JudgeGate = "NOT_RUN" if run.judge is None else run.judge.verdict
    return Gates(
        objective=objective,
        judge=judge,
        run="PASS" if run.status == "completed" and run.error_class is None else "FAIL",
        disagreement=_disagreement(objective, judge, run.scorers),
    )


def _disagreement(objective: Verdict, judge: JudgeGate, scorers: Iterable[ScorerResult]) -> str | None:
    if judge == "PASS" and objective == "FAIL":
        return HARD_CONSTRAINT
    if objective == "PASS" and judge == "FAIL":
        return NOT_CONVINCING
    warned = any(not scorer.required and scorer.verdict == "FAIL" for scorer in _applicable(scorers))
    return WARNING if objective == judge == "PASS" and warned else None
