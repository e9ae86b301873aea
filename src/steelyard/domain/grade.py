"""What a scorer or a judge says of a run."""

import math
from typing import Literal

from pydantic import Field, NonNegativeFloat

from steelyard.domain.record import Finite, Record

Verdict = Literal["PASS", "FAIL", "N/A"]


class Finding(Record):
    """One place that a scorer points at; `line` counts from 1 in the file after the change (before it, if deleted)."""

    path: str
    line: int | None = None
    rule: str
    message: str
    test: str | None = None
    before: str | None = None
    after: str | None = None


class Grade(Record):
    """A scorer's answer, before its name and time are put to it. Make one with `passed`, `failed`, `not_applicable`."""

    verdict: Verdict
    score: Finite | None = Field(default=None, ge=0, le=1)
    detail: str
    output_tail: str = ""
    findings: tuple[Finding, ...] = ()


def passed(detail: str, *, output_tail: str = "") -> Grade:
    """PASS, score 1."""
    return Grade(verdict="PASS", score=1.0, detail=detail, output_tail=output_tail)


def failed(detail: str, *, score: float = 0.0, output_tail: str = "", findings: tuple[Finding, ...] = ()) -> Grade:
    """FAIL, score 0 unless the type says otherwise."""
    return Grade(verdict="FAIL", score=score, detail=detail, output_tail=output_tail, findings=findings)


def not_applicable(detail: str) -> Grade:
    """N/A: neither passes nor fails, has no score."""
    return Grade(verdict="N/A", detail=detail)


class ScorerResult(Record):
    """A scorer's answer as it is stored and shown. `crashed`: the scorer itself broke, which is our fault.

    `quarantined`: the task does not trust it, so it counts for nothing: it is not required and in no mean.
    """

    name: str
    type: str
    verdict: Verdict
    score: Finite | None
    required: bool
    detail: str
    output_tail: str = ""
    duration_s: NonNegativeFloat
    mechanical: bool = True
    crashed: bool = False
    quarantined: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def standing(self) -> str:
        """What a FAIL of it means, in one word: required, advisory or quarantined."""
        return "quarantined" if self.quarantined else "required" if self.required else "advisory"


class FactCheck(Record):
    """One claim that the judge looked into."""

    claim: str
    evidence: str
    status: Literal["supported", "refuted", "unverified"]


FailureMode = Literal[
    "incomplete",
    "wrong_solution",
    "regression",
    "instruction_violation",
    "reward_hacking",
    "inefficient",
    "no_op",
    "refused",
    "should_have_refused",
    "environment",
    "other",
]


class JudgeResult(Record):
    """A judge's answer with its footprint; an unparseable reply is kept raw and has no ratings.

    `cached`: the same question was answered before, and nobody was asked again.
    """

    verdict: Literal["PASS", "FAIL", "UNPARSEABLE"]
    task_completion: int | None = Field(default=None, ge=1, le=5)
    instruction_adherence: int | None = Field(default=None, ge=1, le=5)
    efficiency: int | None = Field(default=None, ge=1, le=5)
    failure_mode: FailureMode | None = None
    fact_checks: tuple[FactCheck, ...] = ()
    reasoning: str = ""
    raw: str | None = None
    backend: str
    model: str
    prompt_version: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: NonNegativeFloat | None = None
    duration_s: NonNegativeFloat
    scored_at: str
    members: tuple["JudgeResult", ...] = ()
    cached: bool = False

    @property
    def judge01(self) -> float | None:
        """The mean of (x - 1) / 4 over the three ratings, of a panel over its members; None without ratings."""
        each = [one for one in (member.judge01 for member in self.members) if one is not None]
        if each:
            return math.fsum(each) / len(each)
        ratings = (self.task_completion, self.instruction_adherence, self.efficiency)
        known = [rating for rating in ratings if rating is not None]
        return sum((rating - 1) / 4 for rating in known) / 3 if len(known) == 3 else None
