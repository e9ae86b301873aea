"""The exception tree, and the one boundary that says whose fault a failure was.

SteelyardError
├── InputError          the user's file, flag or request is wrong: exit code 2
│   └── PlacedError     mistakes in a file, one a line, each opening with its place
├── MeasureError        nothing could be measured: exit code 3
└── RunError            a run went wrong; carries the `error_class` that is recorded with it
    ├── InfraError      our side, the machine or a service: never counted for or against an arm
    └── AgentError      the agent's own doing
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

InfraClass = Literal[
    "sandbox_error",
    "setup_failed",
    "agent_unavailable",
    "auth_failed",
    "rate_limited",
    "network",
    "out_of_memory_host",
    "interrupted",
    "internal_error",
]
AgentClass = Literal[
    "agent_crashed",
    "agent_timeout",
    "agent_no_output",
    "budget_exceeded",
    "out_of_memory",
    "context_overflow",
    "bad_output",
]
ErrorClass = InfraClass | AgentClass

INFRASTRUCTURE: frozenset[str] = frozenset(InfraClass.__args__)  # type: ignore[attr-defined]  # Literal keeps its values there


class SteelyardError(Exception):
    """Anything that Steelyard says went wrong, in one line for people."""


class InputError(SteelyardError):
    """The user's file, flag or request is wrong; the message says where, what is allowed and what to do."""


class PlacedError(InputError):
    """Mistakes in a file, one a line; each line opens with its own place and is printed as it is."""


class MeasureError(SteelyardError):
    """Nothing could be measured, through no fault of the input."""


class RunError(SteelyardError):
    """A run went wrong; `error_class` is recorded with it."""

    error_class: ErrorClass

    def __init__(self, error_class: ErrorClass, message: str) -> None:
        super().__init__(message)
        self.error_class = error_class


class InfraError(RunError):
    """The machine's, a service's or our own fault."""

    def __init__(self, error_class: InfraClass, message: str) -> None:
        super().__init__(error_class, message)


class AgentError(RunError):
    """The agent's own doing."""

    def __init__(self, error_class: AgentClass, message: str) -> None:
        super().__init__(error_class, message)


@contextmanager
def boundary(error_class: InfraClass, doing: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into an `InfraError` of that class that says what was being done."""
    try:
        yield
    except SteelyardError:
        raise
    except MemoryError as error:
        raise InfraError("out_of_memory_host", f"{doing}: the machine ran out of memory") from error
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InfraError(error_class, f"{doing}: {reason}") from error
