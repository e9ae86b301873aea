"""max_files_changed: the change must stay small."""

from typing import Literal

from pydantic import NonNegativeInt

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade, failed, passed
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.paths import files, listed


class MaxFilesChanged(Scorer):
    """FAIL when more than `limit` files differ from the baseline; the score is limit / changed."""

    type: Literal["max_files_changed"] = "max_files_changed"
    limit: NonNegativeInt

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Count touched paths: a rename is two."""
        changed = len(evidence.changed_files)
        detail = f"{files(changed)} changed, limit {self.limit}"
        if changed <= self.limit:
            return passed(detail)
        return failed(f"{detail}: {listed(evidence.changed_files)}", score=self.limit / changed)
