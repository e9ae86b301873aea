r"""The one place where what an agent wrote is made fit for storing: secrets out, then characters no database keeps.

PostgreSQL refuses NUL in texts and neither JSON nor UTF-8 can hold lone surrogates: NUL is stored as the visible `␀`,
a lone surrogate as its escape (`\xNN` where it stood for a byte that is not UTF-8, else `\uNNNN`).
"""

import re
from collections.abc import Mapping
from typing import Any

from steelyard.domain.experiment import Finished
from steelyard.domain.record import JsonObject, canonical_json
from steelyard.formulas.secrets import is_cut_inside, redact_text, surely_clean

# Names that we gave ourselves: redacting one would break what refers to it.
_OURS = frozenset(
    [
        "run_id",
        "experiment",
        "workspace",
        "task_id",
        "arm",
        "task_sha256",
        "status",
        "outcome",
        "error_class",
        "started_at",
        "finished_at",
        "scored_at",
        "verdict",
        "type",
        "kind",
        "name",
        "rule",
        "cost_source",
        "source",
        "failure_mode",
        "backend",
        "prompt_version",
        "baseline_tree",
        "artifacts",
        "agent",
        "sandbox",
        "limits",
        "timings",
        "env_names",
        "overlay_sha256",
        "objective",
        "judge_gate",
        "run",
    ]
)
_NO_TEXT = frozenset({int, float, bool, type(None)})
_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """A text that every database and JSON reader keeps as it is."""
    if "\0" in text:
        text = text.replace("\0", "␀")
    return _SURROGATE.sub(_escape, text)


def clean_record(record: Any, secrets: tuple[str, ...]) -> JsonObject:
    """A record as JSON data, with every text redacted (save the names we gave) and storable.

    Nearly every record needs nothing of that: one look at all its texts together, and it is returned as it is.
    """
    texts = _texts(record)
    whole = "\n".join(texts)
    sure = "\0" not in whole and not _SURROGATE.search(whole) and surely_clean(whole, secrets)
    if sure and not any(is_cut_inside(text, secrets) for text in texts):
        return record  # type: ignore[no-any-return]  # a dump is JSON data
    cleaned: JsonObject = _clean(record, secrets)
    return cleaned


def _texts(record: Any) -> list[str]:
    """Every text in a record, names included."""
    found: list[str] = []
    waiting = [record]
    while waiting:
        value = waiting.pop()
        if type(value) in _NO_TEXT:
            continue
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            found += value
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return found


def exact_json(value: Any) -> str:
    """The canonical JSON of what a person wrote (tasks, arms): nothing is redacted, its sha256 must stay true.

    JSON writes NUL as an escape, so only lone surrogates, which no UTF-8 text can hold, are changed.
    """
    text = canonical_json(value)
    return canonical_json(_only_storable(value)) if _SURROGATE.search(text) else text


def clean_blobs(finished: Finished) -> Mapping[str, bytes]:
    """The artifacts without secrets; their bytes need not be text."""
    return {storable(name): redact_text(data, finished.secrets) for name, data in finished.blobs.items()}


def _clean(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return storable(redact_text(value, secrets))
    if isinstance(value, dict):
        return {storable(k): _only_storable(v) if k in _OURS else _clean(v, secrets) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, secrets) for item in value]
    return value


def _only_storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(k): _only_storable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_only_storable(item) for item in value]
    return value


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"
