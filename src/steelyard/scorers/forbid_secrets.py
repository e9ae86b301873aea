"""forbid_secrets: no key, token or password may come in with the change."""

from typing import Literal

from steelyard.domain.diff import printable
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Finding, Grade, failed, passed
from steelyard.formulas import secrets
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer

SHOWN = 10
KEPT = 500
COUNTED = 2000


class ForbidSecrets(Scorer):
    """FAIL when a secret-like string stands in an added line. The secret itself is never kept or shown."""

    type: Literal["forbid_secrets"] = "forbid_secrets"

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Try every rule on the added lines of every file."""
        found: list[Finding] = []
        for change in evidence.diff.files:
            if change.added and len(found) < COUNTED:
                path = _shown(change.path)
                found += [
                    Finding(path=path, line=secret.line, rule=secret.rule, message=f"secret ({secret.hint})")
                    for secret in secrets.find(change.added, COUNTED)
                ]
        found = found[:COUNTED]
        if not found:
            return passed("no secret-like string in the added lines")
        named = "; ".join(f"{f.path}:{f.line} {f.rule} {f.message}" for f in found[:SHOWN])
        more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        many = "1 secret" if len(found) == 1 else f"{len(found)}{' or more' * (len(found) == COUNTED)} secrets"
        return failed(f"{many} in added lines: {named}{more}", findings=tuple(found[:KEPT]))


def _shown(path: str) -> str:
    """A file's name may hold a secret too."""
    return secrets.redact_text(printable(path))
