"""What every judge does: open a line to a model, ask it one question, and say truthfully what came back."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field

from steelyard.domain.record import JsonObject, Record
from steelyard.domain.usage import Usage
from steelyard.errors import SteelyardError
from steelyard.formulas.prices import Price, cost_of, price_of

Trouble = Literal["busy", "network", "timeout", "refused", "broken", "interrupted"]


class JudgeError(SteelyardError):
    """No reply came. `trouble` says why, `status` is HTTP's; `raw` is what came instead of one.

    Busy (429 and 5xx) and network troubles pass: they are tried again, after `retry_after_s` where the service says.
    """

    def __init__(
        self,
        trouble: Trouble,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        raw: str | None = None,
    ) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.status = status
        self.retry_after_s = retry_after_s
        self.raw = raw

    @property
    def passes(self) -> bool:
        """Whether asking again may help."""
        return self.trouble in ("busy", "network")


@dataclass(frozen=True, slots=True)
class About:
    """Which run is judged, and what the programs said of it. Never told to a model: judging is blind to arms.

    When two runs are held against each other, `arm` is the arm of the one that is shown first, `rival` of the other.
    """

    task_id: str
    arm: str = ""
    repeat: int = 1
    objective: str = "N/A"
    rival: str | None = None


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One question to a judge.

    `system` never changes within a prompt version, `context` (rubrics and task) is the same for every run of a task,
    and `evidence` is the run's own: what stands first can be cached. A reply must repeat `case`, which stands nowhere
    in what the agent wrote. `refused` is the reply that could not be read, and why: the question is put once more.
    """

    system: str
    context: str
    evidence: str
    case: str
    schema: JsonObject
    prompt_version: str
    expected_outcome: Literal["completion", "refusal"] = "completion"
    about: About = About("")
    refused: tuple[str, str] | None = None

    def again(self, reply: str, reason: str) -> "JudgeRequest":
        """The same question after a reply that could not be read."""
        return replace(self, refused=(reply, reason))

    @property
    def complaint(self) -> str:
        """What is said to a model whose reply could not be read."""
        reason = self.refused[1] if self.refused else ""
        return (
            f"Your reply could not be read: {reason}. Answer again for case {self.case}, with nothing but one JSON "
            "object of the form that was asked for."
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered: text, or an object where the backend has structured output.

    `cached`: it was answered before, and nobody was asked this time.
    """

    text: str = ""
    value: JsonObject | None = None
    model: str | None = None
    usage: Usage = Usage()
    cached: bool = False


class Line(ABC):
    """An open line to a model. May be used from several threads at once."""

    @abstractmethod
    def ask(self, request: JudgeRequest) -> Reply:
        """Ask once, without retries; raises `JudgeError` when no reply came."""

    def close(self) -> None:  # noqa: B027  # a line without connections has nothing to close
        """Give back connections. Safe to call twice."""


class Judge(Record):
    """A judge is its own configuration; `open` connects it."""

    type: str
    model: str | None = Field(default=None, description="the model, by the name that the service knows")
    timeout_s: float = Field(default=120.0, gt=0, le=3600, description="how long one request may take")
    max_retries: int = Field(
        default=4, ge=0, le=20, description="how often a request is repeated on 429, 5xx, no network"
    )
    concurrency: int = Field(default=8, ge=1, le=1000, description="how many requests may be under way at once")
    prices: dict[str, Price] | None = Field(default=None, description="USD per million tokens, by model")

    default_model: ClassVar[str] = "unknown"
    asks_a_model: ClassVar[bool] = True  # False: what it answers is not made of the question alone, so never cached

    @abstractmethod
    def open(self, env: Mapping[str, str]) -> Line:
        """A line to the model; keys are looked up in `env`."""

    def check(self, env: Mapping[str, str]) -> str | None:
        """Why this judge can't be asked here and what to do, or None. Starts nothing slow and asks nobody."""
        del env
        return None

    @property
    def model_name(self) -> str:
        """The model that is asked."""
        return self.model or self.default_model

    def priced(self, usage: Usage, model: str | None) -> Usage:
        """The usage with a cost from the price table, where the service told none."""
        if usage.cost_usd is not None:
            return usage
        cost = cost_of(usage, price_of(model or self.model_name, self.prices))
        return usage if cost is None else usage.model_copy(update={"cost_usd": cost, "cost_source": "computed"})
