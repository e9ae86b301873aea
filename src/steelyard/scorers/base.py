"""What every scorer does: look at the evidence, answer with a grade."""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade
from steelyard.domain.record import Record
from steelyard.sandboxes.base import Sandbox


class Scorer(Record):
    """A scorer is its own configuration: its fields are what a suite may set, and freezing it is `model_dump`.

    `required` None takes the type's default. A scorer that `uses_sandbox` runs commands; the others read the evidence
    alone and may be given None. With `fresh_sandbox` that is never the one the agent worked in, whatever the task's
    `grading`. `mechanical` False (the judge's rubric) never gates.
    """

    type: str
    name: str = Field(min_length=1, max_length=200)
    required: bool | None = None

    required_by_default: ClassVar[bool] = True
    mechanical: ClassVar[bool] = True
    uses_sandbox: ClassVar[bool] = False
    fresh_sandbox: ClassVar[bool] = False

    @property
    def is_required(self) -> bool:
        """Whether a FAIL of this scorer fails the run."""
        return self.mechanical and (self.required_by_default if self.required is None else self.required)

    @abstractmethod
    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """The grade; an exception means that the scorer itself is broken, which no arm pays for."""

    def resolved(self, root: Path) -> "Scorer":
        """This scorer with the files that it names (relative to the suite) read in, ready to freeze."""
        del root
        return self
