"""A run: everything that was measured, in one record. Numbers that can be derived are not stored here as facts."""

from math import fsum
from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from steelyard.domain.grade import JudgeResult, ScorerResult, Verdict
from steelyard.domain.record import JsonObject, Record
from steelyard.domain.usage import Resources, Usage
from steelyard.errors import INFRASTRUCTURE, ErrorClass

Status = Literal["completed", "failed", "interrupted"]
Outcome = Literal["COMPLETED", "BLOCKED", "FAILED"]
JudgeGate = Literal["PASS", "FAIL", "UNPARSEABLE", "NOT_RUN"]


class Cell(Record):
    """One place of the plan: (task, arm, repeat)."""

    task_id: str
    arm: str
    repeat: PositiveInt


class StageAttempt(Record):
    """One try of one stage."""

    name: str
    attempt: PositiveInt
    exit_code: int
    passed: bool
    duration_s: NonNegativeFloat
    output_tail: str = ""
    timed_out: bool = False


class TurnRecord(Record):
    """One message to the agent and what came of it; `kind` says who wrote the message."""

    kind: Literal["task", "repair"]
    prompt: str
    exit_code: int | None
    duration_s: NonNegativeFloat
    usage: Usage = Usage()
    final_response: str = ""
    session_id: str | None = None
    error_class: ErrorClass | None = None


class Gates(Record):
    """The three gates, none of which subsumes another, and what their disagreement is called."""

    objective: Verdict
    judge: JudgeGate = "NOT_RUN"
    run: Literal["PASS", "FAIL"]
    disagreement: str | None = None


class Parity(Record):
    """What must be equal between arms unless it is what they are meant to differ in."""

    agent: str
    agent_version: str | None = None
    model: str | None = None
    sandbox: str
    image: str | None = None
    limits: JsonObject = {}
    env_names: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    overlay_sha256: str | None = None
    treatment_files: tuple[str, ...] = ()
    treatment_read: tuple[str, ...] | None = None


class Run(Record):
    """The facts of one run. Times are seconds; instants are ISO 8601 in UTC. `artifacts` maps a name to a sha256.

    `imported` is the run-record line that the run was made of, word for word, where it was not run here.
    """

    run_id: str
    experiment: str
    workspace: str
    task_id: str
    arm: str
    repeat: PositiveInt
    task_sha256: str
    status: Status
    outcome: Outcome
    error_class: ErrorClass | None = None
    error_detail: str | None = None
    started_at: str
    finished_at: str
    wall_s: NonNegativeFloat
    timings: dict[str, float] = {}
    attempt: PositiveInt = 1
    is_ledger: bool = False
    final_response: str = ""
    turns: tuple[TurnRecord, ...] = ()
    stages: tuple[StageAttempt, ...] = ()
    scorers: tuple[ScorerResult, ...] = ()
    judge: JudgeResult | None = None
    changed_files: tuple[str, ...] = ()
    added_lines: NonNegativeInt | None = None
    removed_lines: NonNegativeInt | None = None
    usage: Usage = Usage()
    resources: Resources = Resources()
    parity: Parity
    baseline_tree: str | None = None
    artifacts: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    imported: str | None = None

    @property
    def known_cost_usd(self) -> float:
        """The money that is known to be spent, turn by turn: one turn that did not say hides no other."""
        return self.usage.cost_usd or fsum(turn.usage.cost_usd or 0.0 for turn in self.turns)

    @property
    def known_tokens(self) -> int:
        """The tokens that are known to be used, turn by turn."""
        return max(self.usage.known_tokens, sum(turn.usage.known_tokens for turn in self.turns))

    @property
    def is_infrastructure(self) -> bool:
        """Whether the failure was not the arm's: such a run is never counted for or against it."""
        return self.error_class in INFRASTRUCTURE
