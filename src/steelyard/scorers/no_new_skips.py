"""no_new_skips: a change must not switch tests off."""

from typing import Literal

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Grade, failed, not_applicable, passed
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.integrity.sources import concerns_tests
from steelyard.scorers.paths import files


class NoNewSkips(Scorer):
    """FAIL when test files hold more skip, expected-failure or focus markers than before, all files taken together."""

    type: Literal["no_new_skips"] = "no_new_skips"
    test_globset: tuple[str, ...] = ()

    required_by_default = False

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Count the markers on both sides; what merely moved is not new."""
        if not concerns_tests(evidence, self.test_globset):
            return not_applicable("no test file changed")
        from steelyard.scorers.integrity.analyse import notes, pairs
        from steelyard.scorers.integrity.compare import MAX_FINDINGS, added_skips, unread

        changed = pairs(evidence, self.test_globset)
        if not changed:
            return not_applicable("no test file changed")
        before = sum(len(pair.before.skips) for pair in changed)
        after = sum(len(pair.after.skips) for pair in changed)
        where = files(len(changed), "changed test file")
        said = f"skip markers in {where}: {before} before, {after} after{notes(changed)}"
        findings = [*unread(changed), *(added_skips(changed) if after > before else ())]
        return failed(said, findings=tuple(findings[:MAX_FINDINGS])) if findings or after > before else passed(said)
