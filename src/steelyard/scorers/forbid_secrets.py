"""forbid_secrets: no key, token or password may come in with the change."""

import codecs
from typing import Literal

from steelyard.domain.diff import FileChange, printable
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import Finding, Grade, failed, passed
from steelyard.formulas import secrets
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.base import Scorer

SHOWN = 10
KEPT = 500
COUNTED = 2000
HEAD = 8000
WHOLE = 64 * 1024 * 1024
"""Of a larger file only the beginning was captured."""
READ = 256 * 1024 * 1024
"""How much is read of files that have no lines in the diff, all together."""


class ForbidSecrets(Scorer):
    """FAIL when a secret-like string stands in an added line. The secret itself is never kept or shown."""

    type: Literal["forbid_secrets"] = "forbid_secrets"

    def score(self, evidence: Evidence, sandbox: Sandbox | None) -> Grade:
        """Try every rule on the added lines of every file; a file without lines in the diff is read itself."""
        found: list[Finding] = []
        unread: list[str] = []
        left = READ
        for change in evidence.diff.files:
            seen: list[secrets.Secret] = []
            if change.added and len(found) < COUNTED:
                seen = secrets.find(change.added, COUNTED)
            elif change.kind in {"added", "modified"} and not change.removed:
                text = _text(evidence, change)
                if len(text) >= WHOLE or len(text) > left:
                    unread.append(_shown(change.path))
                if len(text) <= left and len(found) < COUNTED:
                    seen, left = _new(evidence, change, text), left - len(text)
            path = _shown(change.path) if seen else ""
            found += [Finding(path=path, line=one.line, rule=one.rule, message=f"secret ({one.hint})") for one in seen]
        return _answer(found[:COUNTED], unread)


def _answer(found: list[Finding], unread: list[str]) -> Grade:
    others = f" and {len(unread) - 3} more" if len(unread) > 3 else ""
    left_out = f"; not read to the end: {', '.join(unread[:3])}{others}" if unread else ""
    if not found:
        return passed(f"no secret-like string in the added lines{left_out}")
    named = "; ".join(f"{f.path}:{f.line} {f.rule} {f.message}" for f in found[:SHOWN])
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    many = "1 secret" if len(found) == 1 else f"{len(found)}{' or more' * (len(found) == COUNTED)} secrets"
    return failed(f"{many} in added lines: {named}{more}{left_out}", findings=tuple(found[:KEPT]))


def _text(evidence: Evidence, change: FileChange) -> bytes:
    """The new content of a file that has no lines in the diff, as UTF-8; nothing where it is no text."""
    raw = evidence.after(change.path) or b""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace").encode("utf-8", "replace")
    if b"\0" not in raw[:HEAD]:
        return raw
    try:
        codecs.getincrementaldecoder("utf-8")().decode(raw[:HEAD])
    except UnicodeDecodeError:
        return b""
    return raw  # a zero or two make no text a picture


def _new(evidence: Evidence, change: FileChange, text: bytes) -> list[secrets.Secret]:
    """The secrets of a file whose lines were not there before."""
    seen = secrets.find_in(text, COUNTED)
    before = evidence.before(change.path) if seen and change.kind == "modified" else None
    if not before:
        return seen
    lines, known = text.split(b"\n"), set(before.split(b"\n"))
    return [one for one in seen if lines[one.line - 1] not in known]


def _shown(path: str) -> str:
    """A file's name may hold a secret too."""
    return secrets.redact_text(printable(path))
