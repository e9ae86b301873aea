"""assertions_not_weakened: a change must not make the tests assert less."""

from typing import Literal

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade, failed, not_applicable, passed
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.integrity.analyse import notes, pairs
from steelyard.scorers.integrity.compare import MAX_FINDINGS, removed_checks


class AssertionsNotWeakened(Scorer):
    """FAIL when assertions are net-removed over all changed test files, or a test was made unable to fail."""

    type: Literal["assertions_not_weakened"] = "assertions_not_weakened"
    test_globset: tuple[str, ...] = ()

    required_by_default = False

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Count the assertions on both sides, then compare each test with itself."""
        changed = pairs(evidence, self.test_globset)
        if not changed:
            return not_applicable("no test file changed")
        before = sum(len(pair.before.checks) for pair in changed)
        after = sum(len(pair.after.checks) for pair in changed)
        said = f"assertions in {len(changed)} changed test files: {before} before, {after} after{notes(changed)}"
        if after >= before:
            return passed(said)
        return failed(said, findings=tuple(removed_checks(changed)[:MAX_FINDINGS]))
