"""Runs a task's scorers: those that only read first, commands last, and a broken one never stops the others."""

from collections.abc import Callable, Sequence

from pydantic import ValidationError

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade, ScorerResult, failed, not_applicable
from steelyard.domain.suite import Task
from steelyard.errors import AgentError, RunError
from steelyard.formulas.secrets import redact_text
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.paths import files, listed

LONGEST_DETAIL = 20_000
UNRESTORED = "what the command changed could not be put back"


def grade(
    scorers: Sequence[Scorer],
    evidence: Evidence,
    sandbox: Sandbox | None,
    *,
    clock: Callable[[], float],
    between: Callable[[], list[str]] | None = None,
) -> tuple[ScorerResult, ...]:
    """Every scorer's answer, in the order they are configured.

    `between` is called after each scorer that uses the sandbox and is not the last: it puts back what the command
    changed in the tree, so that the next one sees what the agent left, and says which files those were.
    """
    results: dict[int, ScorerResult] = {}
    spoiled: str | None = None
    # Of those that run commands, one that wants a sandbox without history comes first.
    order = sorted(range(len(scorers)), key=lambda i: (scorers[i].uses_sandbox, not scorers[i].fresh_sandbox))
    for index in order:
        scorer = scorers[index]
        started = clock()
        if spoiled is not None and scorer.uses_sandbox:
            results[index] = _result(scorer, failed(f"not run: {spoiled}"), False, 0.0, evidence.task)
            continue
        followed = scorer.uses_sandbox and index != order[-1]
        answer, crashed, spoiled = _answer(scorer, evidence, sandbox, between if followed else None)
        spent = max(0.0, clock() - started)
        try:
            results[index] = _result(scorer, answer, crashed, spent, evidence.task)
        except (ValidationError, AttributeError) as error:  # a grade that was made past every check
            answer = failed(f"the scorer itself crashed: {_reason(error)}")
            results[index] = _result(scorer, answer, True, spent, evidence.task)
    return tuple(results[index] for index in range(len(scorers)))


def ungraded(scorers: Sequence[Scorer], reason: str, task: Task) -> tuple[ScorerResult, ...]:
    """What is said of a change that the agent made impossible to grade: every mechanical scorer fails."""
    answers = [failed(reason) if scorer.mechanical else not_applicable(reason) for scorer in scorers]
    return tuple(_result(scorer, answer, False, 0.0, task) for scorer, answer in zip(scorers, answers, strict=True))


def _answer(
    scorer: Scorer, evidence: Evidence, sandbox: Sandbox | None, between: Callable[[], list[str]] | None
) -> tuple[Grade, bool, str | None]:
    """A grade; whether the scorer itself broke (the grade is FAIL then: gates fail closed); and what spoiled the tree.

    What the agent's code did so that the tree can't be put back is the agent's fault: it fails, it is no crash.
    """
    answer, crashed = _asked(lambda: _checked(scorer.score(evidence, sandbox)), "the scorer itself crashed")
    if between is None:
        return answer, crashed, None
    restored: list[str] = []

    def put_back() -> Grade:
        restored.extend(between())
        return answer

    before = answer
    answer, broke = _asked(put_back, UNRESTORED)
    spoiled = answer.detail if answer is not before and not broke else None
    if restored and not crashed:
        said = f"{answer.detail}; {files(len(restored))} that it changed put back: {listed(restored)}"
        answer = answer.model_copy(update={"detail": said})
    return answer, crashed or broke, spoiled


def _asked(ask: Callable[[], Grade], what: str) -> tuple[Grade, bool]:
    try:
        return ask(), False
    except (Exception, SystemExit) as error:  # whatever an outside scorer raises is recorded
        if isinstance(error, RunError) and error.error_class == "interrupted":
            raise
        return failed(f"{what}: {_reason(error)}"), not isinstance(error, AgentError)


def _checked(answer: object) -> Grade:
    if not isinstance(answer, Grade):
        raise TypeError(f"a scorer answers with a Grade, this one with {type(answer).__name__}")
    if isinstance(answer.detail, str) and (left := len(answer.detail) - LONGEST_DETAIL) > 0:
        said = f"{answer.detail[:LONGEST_DETAIL]} … {left:,} characters left out"
        return answer.model_copy(update={"detail": said})
    return answer


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    kind = "" if isinstance(error, RunError) else type(error).__name__
    return redact_text(": ".join(part for part in (kind, text[:1000]) if part))


def _result(scorer: Scorer, answer: Grade, crashed: bool, duration_s: float, task: Task) -> ScorerResult:
    quarantined = scorer.name in task.quarantine
    return ScorerResult(
        name=scorer.name,
        type=scorer.type,
        verdict=answer.verdict,
        score=answer.score,
        required=scorer.is_required and not quarantined,
        detail=answer.detail,
        output_tail=answer.output_tail,
        duration_s=duration_s,
        mechanical=scorer.mechanical,
        crashed=crashed,
        quarantined=quarantined,
        findings=answer.findings,
    )
