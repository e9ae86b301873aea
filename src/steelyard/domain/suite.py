"""What a suite file says, once read: scenarios merged into tasks, arms, and how to compare them.

Scorers and agents are kept as JSON objects with a `type` (their part's `model_dump`): the part classes live above
this layer, and only the types that a suite uses are ever loaded (`plugins.build`).
"""

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.record import JsonObject, Record, canonical_json, sha256

Name = str
NOT_BLANK = r"\S"
ShellCommand = Annotated[str, Field(min_length=1, pattern=NOT_BLANK)]


class Seed(Record):
    """Where the code tree comes from: exactly one of directory, git (at a ref), archive, empty."""

    directory: str | None = None
    git: str | None = None
    ref: str | None = None
    archive: str | None = None
    empty: bool | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [n for n in ("directory", "git", "archive", "empty") if getattr(self, n) not in (None, False)]
        if len(given) != 1:
            raise ValueError("give exactly one of directory, git, archive, empty: true")
        if self.ref is not None and self.git is None:
            raise ValueError("ref goes with git only")
        return self


class Reference(Record):
    """A known solution, for `steelyard audit`: a patch, or a directory whose files are laid over the tree."""

    patch: str | None = None
    directory: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.patch is None) == (self.directory is None):
            raise ValueError("give exactly one of patch, directory")
        return self


class Stage(Record):
    """One command of the gate loop."""

    name: str = Field(min_length=1, max_length=200)
    command: ShellCommand
    timeout_s: int = Field(default=900, ge=1, le=86_400)


class JudgeSpec(Record):
    """Whether and by whom the run is judged; `judges` is a panel."""

    enabled: bool = True
    backend: str | None = None
    model: str | None = None
    judges: tuple[JsonObject, ...] = Field(
        default=(), json_schema_extra={"items": {"anyOf": [{"type": "string"}, {"type": "object"}]}}
    )


class Limits(Record):
    """What a run may use. None: no limit of Steelyard's own."""

    timeout_s: int = Field(default=900, ge=1, le=604_800)
    memory_mb: PositiveInt | None = None
    cpus: PositiveFloat | None = None
    pids: PositiveInt | None = None
    disk_mb: PositiveInt | None = None
    network: bool = True
    max_cost_usd: PositiveFloat | None = None
    max_tokens: PositiveInt | None = None


class Scenario(Record):
    """How to seed a code tree, set it up, and grade what an agent does to it.

    `quarantine` names scorers and stages that can't be trusted: such a scorer runs and is shown, but counts for
    nothing; such a stage does not run. `reference` is the auditor's alone: it is never part of a frozen task.
    """

    seed: Seed | None = None
    setup: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    max_repair_loops: int = Field(default=2, ge=0, le=100)
    grading: Literal["live", "fresh"] = "live"
    scorers: tuple[JsonObject, ...] = ()
    quarantine: tuple[str, ...] = ()
    reference: Reference | None = Field(default=None, exclude=True)
    judge: JudgeSpec = JudgeSpec()
    expected_outcome: Literal["completion", "refusal"] = "completion"
    limits: Limits = Limits()
    image: str | None = None
    dockerfile: str | None = None


class Task(Scenario):
    """A scenario and an instruction, with every field in place: this is what is frozen."""

    id: str = Field(min_length=1, max_length=200)
    scenario: str | None = None
    prompt: str | None = None
    turns: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _instructed(self) -> Self:
        if (self.prompt is None) == (not self.turns):
            raise ValueError("give either prompt or turns")
        return self

    @property
    def prompts(self) -> tuple[str, ...]:
        """What the agent is told, turn by turn."""
        return self.turns or (self.prompt or "",)

    @property
    def gates(self) -> tuple[Stage, ...]:
        """The stages that run: those that are not in quarantine."""
        return tuple(stage for stage in self.stages if stage.name not in self.quarantine)

    @property
    def is_ledger(self) -> bool:
        """A task without a code tree, which is judged only."""
        return self.seed is None


class FrozenTask(Record):
    """A task as it was when it was created: later edits of its scenario never change how it is graded."""

    task: Task
    sha256: str

    @classmethod
    def of(cls, task: Task) -> "FrozenTask":
        """Freeze a task: its canonical JSON is its snapshot."""
        return cls(task=task, sha256=sha256(snapshot(task)))


def snapshot(task: Task) -> str:
    """The canonical JSON of a task, whose sha256 names it; an empty quarantine is left out, as before there was one."""
    fields = task.model_dump(mode="json")
    return canonical_json({name: value for name, value in fields.items() if name != "quarantine" or value})


class Arm(Record):
    """What is weighed: an agent with its model, overlay files, environment and prompt preamble."""

    name: str = Field(min_length=1, max_length=200)
    agent: JsonObject
    overlay: str | None = None
    env: tuple[str, ...] = ()
    preamble: str | None = None


class Suite(Record):
    """A whole suite file: tasks × arms × repeats."""

    workspace: str = Field(default="default", max_length=200)
    tasks: tuple[Task, ...]
    arms: tuple[Arm, ...]
    compare: CompareSpec = CompareSpec()
    repeats: int = Field(default=1, ge=1, le=10_000)
    max_cost_usd: PositiveFloat | None = None
    max_tokens: PositiveInt | None = None
    max_seconds: PositiveFloat | None = None
    root: str = "."
