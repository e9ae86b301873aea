"""llm_judge: a rubric for the judge, listed among the scorers."""

from typing import ClassVar, Literal

from pydantic import Field

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade, not_applicable
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer


class LlmJudge(Scorer):
    """Never fails and never gates: `rubric` goes to the judge, who answers for it."""

    type: Literal["llm_judge"] = "llm_judge"
    rubric: str = Field(min_length=1, max_length=20_000)

    required_by_default: ClassVar[bool] = False
    mechanical: ClassVar[bool] = False

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """N/A: no program can tell."""
        return not_applicable("for the judge")
