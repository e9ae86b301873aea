"""allowed_paths: the change must stay inside the named places."""

from typing import Literal

from steelyard.domain.diff import printable
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Finding, Grade, failed, passed
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.paths import Patterns, files, listed, matching


class AllowedPaths(Scorer):
    """FAIL when a changed file matches none of the patterns; the score is the share of changed files inside."""

    type: Literal["allowed_paths"] = "allowed_paths"
    patterns: Patterns

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Look at every touched path, both sides of a rename included."""
        changed = evidence.changed_files
        inside = set(matching(self.patterns, changed))
        outside = [path for path in changed if path not in inside]
        if not outside:
            return passed(f"{files(len(changed))} changed, all inside the allowed paths")
        return failed(
            f"{len(outside)} of {files(len(changed))} changed outside the allowed paths: {listed(outside)}",
            score=len(inside) / len(changed),
            findings=tuple(
                Finding(path=printable(path), rule=self.type, message="is outside the allowed paths")
                for path in outside
            ),
        )
