"""forbid_paths: some places must not be touched."""

from typing import Literal

from steelyard.domain.diff import printable
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Finding, Grade, failed, passed
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.paths import Patterns, files, listed, matching


class ForbidPaths(Scorer):
    """FAIL when a changed file matches a pattern."""

    type: Literal["forbid_paths"] = "forbid_paths"
    patterns: Patterns

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Look at every touched path, both sides of a rename included."""
        changed = evidence.changed_files
        touched = matching(self.patterns, changed)
        if not touched:
            return passed(f"{files(len(changed))} changed, none of them forbidden")
        return failed(
            f"{files(len(touched))} changed in forbidden places: {listed(touched)}",
            findings=tuple(
                Finding(path=printable(path), rule=self.type, message="matches a forbidden pattern") for path in touched
            ),
        )
