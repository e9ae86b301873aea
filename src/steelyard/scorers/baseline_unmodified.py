"""baseline_unmodified: the scaffolding must be what was there."""

from typing import Literal

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.frozen import grade_frozen
from steelyard.scorers.paths import RelativePaths


class BaselineUnmodified(Scorer):
    """FAIL when one of `paths` was edited, deleted, renamed or had its mode changed, or was not in the baseline."""

    type: Literal["baseline_unmodified"] = "baseline_unmodified"
    paths: RelativePaths

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Paths are exact: no patterns."""
        return grade_frozen(evidence, self.paths, self.type)
