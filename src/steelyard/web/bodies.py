"""What callers send: records whose every number and text is bounded before anything is done with it."""

import base64
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, EncodedBytes, EncoderProtocol, Field, model_validator

from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.grade import Finding, JudgeResult, Verdict
from steelyard.domain.record import Finite, JsonObject, Record
from steelyard.domain.run import Outcome, Status, TurnRecord
from steelyard.domain.suite import Arm, Scenario, Task
from steelyard.domain.usage import CostSource
from steelyard.errors import ErrorClass

MOST_ATTEMPTS = 1000
_LONGEST = 1e9  # seconds: about thirty years


def _printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("must be printable text without spaces at its ends")
    return text


class _Base64(EncoderProtocol):
    """Base64 as RFC 4648 has it: pydantic's own passes over what is none."""

    @classmethod
    def decode(cls, data: bytes) -> bytes:
        """The bytes."""
        return base64.b64decode(data, validate=True)

    @classmethod
    def encode(cls, value: bytes) -> bytes:
        """The text."""
        return base64.b64encode(value)

    @classmethod
    def get_json_format(cls) -> Literal["base64"]:
        """Its name in JSON Schema."""
        return "base64"


Blob = Annotated[bytes, EncodedBytes(encoder=_Base64)]
Named = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]
# Also a step of an address: nothing that a URL treats as its own.
Slug = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+=~-]*$")]
Count = Annotated[int, Field(ge=0, le=2**53)]
Amount = Annotated[Finite, Field(ge=0, le=1e15)]
Seconds = Annotated[Finite, Field(ge=0, le=_LONGEST)]


class UsageIn(Record):
    """Tokens, money and effort; what is left out is unknown, never zero."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    cost_usd: Amount | None = None
    cost_source: CostSource = "unknown"
    steps: Count | None = None
    tool_calls: Count | None = None


class ResourcesIn(Record):
    """What a sandbox measured; all of it may be unknown."""

    peak_memory_mb: Amount | None = None
    memory_limit_mb: Amount | None = None
    cpu_time_s: Amount | None = None
    cpu_periods: Count | None = None
    cpu_throttled_periods: Count | None = None
    oom_kills: Count | None = None
    source: Literal["cgroup2", "cgroup1", "docker", "processes", "unknown"] = "unknown"


class StageIn(Record):
    """A stage with how many attempts it took, or, with `attempt`, one attempt of a stage."""

    name: Named
    passed: bool
    attempts: int = Field(default=1, ge=0, le=MOST_ATTEMPTS)
    attempt: int | None = Field(default=None, ge=1, le=MOST_ATTEMPTS)
    exit_code: int | None = Field(default=None, ge=-(2**31), le=2**31)
    duration_s: Seconds = 0.0
    output_tail: str = ""
    timed_out: bool = False

    @model_validator(mode="after")
    def _tried(self) -> "StageIn":
        if self.passed and self.attempts == 0:
            raise ValueError("a stage that passed took at least one attempt")
        return self


class ScorerIn(Record):
    """A scorer's result; `score` is 1 on PASS and 0 on FAIL when it is left out."""

    name: Named
    type: Named = "command"
    verdict: Verdict
    score: Finite | None = Field(default=None, ge=0, le=1)
    required: bool = True
    detail: str = ""
    output_tail: str = ""
    duration_s: Seconds = 0.0
    mechanical: bool = True
    crashed: bool = False
    quarantined: bool = False
    findings: tuple[Finding, ...] = ()


class ParityIn(Record):
    """Who acted, and where."""

    agent: Named = "unknown"
    agent_version: str | None = None
    model: str | None = None
    sandbox: Named = "unknown"
    image: str | None = None
    limits: JsonObject = {}
    env_names: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    overlay_sha256: str | None = None
    treatment_files: tuple[str, ...] = ()
    treatment_read: tuple[str, ...] | None = None


class RunIn(Record):
    """A finished run. Required: `run_id`, `outcome`, and `wall_s` or both times; everything else may be left out.

    Without `experiment` the run belongs to no plan. Without times the server takes the moment it received the run.
    `artifacts` are further files by name, in base64 (also a `diff` that is not UTF-8).
    """

    model_config = ConfigDict(title="RunIn")

    run_id: Slug
    outcome: Outcome
    workspace: Named | None = None
    experiment: Named | None = None
    task_id: Named = "unknown"
    task_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    arm: Named = "unknown"
    repeat: int = Field(default=1, ge=1, le=2**31 - 1)
    attempt: int = Field(default=1, ge=1, le=2**31 - 1)
    status: Status | None = None
    error_class: ErrorClass | None = None
    error_detail: str | None = None
    started_at: str | None = Field(default=None, max_length=60)
    finished_at: str | None = Field(default=None, max_length=60)
    wall_s: Seconds | None = None
    timings: dict[str, Finite] = {}
    is_ledger: bool = False
    final_response: str = ""
    turns: tuple[TurnRecord, ...] = ()
    stages: tuple[StageIn, ...] = Field(default=(), max_length=1000)
    scorers: tuple[ScorerIn, ...] = Field(default=(), max_length=1000)
    judge: JudgeResult | None = None
    changed_files: tuple[str, ...] = ()
    added_lines: Count | None = None
    removed_lines: Count | None = None
    usage: UsageIn = UsageIn()
    resources: ResourcesIn = ResourcesIn()
    parity: ParityIn = ParityIn()
    baseline_tree: str | None = None
    notes: tuple[str, ...] = ()
    diff: str | None = None
    trajectory: JsonObject | None = None
    artifacts: dict[Named, Blob] = Field(default={}, max_length=20)


class ExperimentIn(Record):
    """An experiment that was planned elsewhere, so that its runs can be compared here as they were meant to be."""

    model_config = ConfigDict(title="ExperimentIn")

    id: Slug
    workspace: Named | None = None
    created_at: str | None = Field(default=None, max_length=60)
    suite_path: str | None = None
    tasks: tuple[Task, ...] = Field(default=(), max_length=10_000)
    arms: tuple[Arm, ...] = Field(default=(), max_length=1000)
    repeats: int = Field(default=1, ge=1, le=10_000)
    compare: CompareSpec = CompareSpec()
    settings: JsonObject = {}


class ScenarioIn(Scenario):
    """A new scenario: the suite file's fields, and the name it goes by."""

    model_config = ConfigDict(title="ScenarioIn")

    name: Slug
    workspace: Named | None = None


class ScenarioEdit(Scenario):
    """A scenario's fields as they shall be from now on; tasks that were made before keep theirs."""

    model_config = ConfigDict(title="ScenarioEdit")


class TaskIn(Record):
    """A new task. What it does not say itself is taken from the scenario, now; `limits` and `judge` field by field."""

    model_config = ConfigDict(title="TaskIn")

    id: Slug
    workspace: Named | None = None
    scenario: Slug | None = None
    prompt: str | None = Field(default=None, min_length=1)
    turns: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    fields: dict[str, Any] = Field(default={}, description="fields of the scenario that this task has its own way")

    @model_validator(mode="after")
    def _instructed(self) -> "TaskIn":
        if (self.prompt is None) == (not self.turns):
            raise ValueError("give either prompt or turns")
        return self


class WeightsIn(Record):
    """How much each axis counts from now on; together 1."""

    model_config = ConfigDict(title="WeightsIn")

    completion: Finite = Field(ge=0, le=1)
    error_rate: Finite = Field(ge=0, le=1)
    latency: Finite = Field(ge=0, le=1)
    resource_efficiency: Finite = Field(ge=0, le=1)


BODIES: tuple[type[Record], ...] = (RunIn, ExperimentIn, ScenarioIn, ScenarioEdit, TaskIn, WeightsIn)
