"""assertions_not_weakened: a change must not make the tests assert less."""

from collections import Counter
from typing import Literal

from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Finding, Grade, failed, not_applicable, passed
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer
from steelyard.scorers.integrity.sources import concerns_tests
from steelyard.scorers.paths import files


class AssertionsNotWeakened(Scorer):
    """FAIL when assertions are net-removed over all changed test files, or a test was made unable to fail."""

    type: Literal["assertions_not_weakened"] = "assertions_not_weakened"
    test_globset: tuple[str, ...] = ()

    required_by_default = False

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Count the assertions on both sides, then compare each test with itself."""
        if not concerns_tests(evidence, self.test_globset):
            return not_applicable("no test file changed")
        from steelyard.scorers.integrity.analyse import notes, pairs
        from steelyard.scorers.integrity.compare import MAX_FINDINGS, removed_checks, unread
        from steelyard.scorers.integrity.weaken import effective, weakenings

        changed = pairs(evidence, self.test_globset)
        if not changed:
            return not_applicable("no test file changed")
        before = sum(len(pair.before.checks) for pair in changed)
        after = sum(len(pair.after.checks) for pair in changed)
        said = (
            f"assertions in {files(len(changed), 'changed test file')}: {before} before, {after} after{notes(changed)}"
        )
        findings = [*unread(changed), *weakenings(changed)]
        could, can = effective(changed)
        if after < before or (can < could and not findings):
            findings.extend(removed_checks(changed, able=after >= before))
        if not findings:
            return passed(said)
        if can < could:
            said += f"; able to fail: {could} before, {can} after"
        return failed(f"{said}; {_summary(findings)}", findings=tuple(findings[:MAX_FINDINGS]))


def _summary(findings: list[Finding]) -> str:
    """How many findings of each rule, and the first in words."""
    counted = Counter(finding.rule for finding in findings)
    return f"{', '.join(f'{rule} {count}' for rule, count in counted.items())}: {findings[0].message}"
