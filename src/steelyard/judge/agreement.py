"""Human labels against a judge's verdicts: what is read, and everything that is said of it."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from steelyard.domain.grade import FailureMode, JudgeResult
from steelyard.domain.mistakes import mistakes
from steelyard.domain.record import JsonObject, Record
from steelyard.errors import InputError, PlacedError
from steelyard.formulas.agreement import agreement, cohen_kappa, kappa_spread
from steelyard.judge.request import RATINGS

LONGEST_LINE = 1024 * 1024
MOST_LABELS = 100_000
NAMED = 50  # bad lines that are spelled out
JUDGED = ("PASS", "FAIL", "UNPARSEABLE", "NOT_RUN")
_MODES: tuple[str, ...] = get_args(FailureMode)


class Ratings(Record):
    """A person's ratings, those that were given."""

    task_completion: int | None = Field(default=None, ge=1, le=5)
    instruction_adherence: int | None = Field(default=None, ge=1, le=5)
    efficiency: int | None = Field(default=None, ge=1, le=5)


class Label(Record):
    """What a person says of a run."""

    run_id: str = Field(min_length=1, max_length=200)
    verdict: Literal["PASS", "FAIL"]
    ratings: Ratings = Ratings()
    failure_mode: FailureMode | None = None
    note: str = ""

    @model_validator(mode="after")
    def _only_a_fail_has_a_mode(self) -> Self:
        if self.verdict == "PASS" and self.failure_mode is not None:
            raise ValueError("a PASS has no failure_mode")
        return self


def read_labels(path: Path) -> list[Label]:
    """The labels of a file of JSON lines; `InputError` that names every bad line with its number."""
    labels: list[Label] = []
    places: dict[str, int] = {}
    bad: list[str] = []
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), 1):
                problems, label = _parse(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
                if label is not None and label.run_id in places:
                    problems = [f"run_id: {label.run_id} was already labelled on line {places[label.run_id]}"]
                elif label is not None:
                    places[label.run_id] = number
                    labels.append(label)
                bad += [f"{path}:{number}: {problem}" for problem in problems]
                if len(bad) >= NAMED or len(labels) > MOST_LABELS:
                    break
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror}") from None
    if bad:
        raise PlacedError("\n".join([*bad[:NAMED], "; ".join(_allowed())]))
    if len(labels) > MOST_LABELS:
        raise InputError(f"{path}: holds more than {MOST_LABELS:,} labels; give fewer")
    if not labels:
        raise InputError(f"{path}: holds no label; one JSON object a line is expected: {_allowed()[0]}")
    return labels


def _allowed() -> list[str]:
    return [
        '{"run_id": …, "verdict": "PASS" or "FAIL"} and, as you like, ratings, failure_mode, note',
        "one label a line; nothing was checked",
    ]


def _parse(line: bytes) -> tuple[list[str], Label | None]:
    if len(line) >= LONGEST_LINE:
        return [f"is longer than {LONGEST_LINE // 1024 // 1024} MB; one label a line is expected"], None
    if not line.strip():
        return [], None
    try:
        line.decode("utf-8")
        json.loads(line, parse_constant=_no_constant)
        return [], Label.model_validate_json(line)
    except UnicodeDecodeError as error:
        return [f"not UTF-8 (byte {error.start + 1})"], None
    except ValidationError as error:
        return mistakes(error, Label), None
    except (ValueError, RecursionError) as error:
        return [f"not valid JSON: {error}"], None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


@dataclass(frozen=True)
class Labelled:
    """A run with what a person and a judge say of it; None where the run was not judged."""

    task_id: str
    label: Label
    judged: JudgeResult | None

    @property
    def verdict(self) -> str:
        """The judge's verdict."""
        return "NOT_RUN" if self.judged is None else self.judged.verdict


def agreement_of(labelled: Sequence[Labelled]) -> JsonObject:
    """Agreement, kappa, confusion, failure modes and ratings as one document. Only PASS and FAIL can agree."""
    decided = [one for one in labelled if one.verdict in ("PASS", "FAIL")]
    pairs = [(one.label.verdict, one.verdict) for one in decided]
    spread = kappa_spread(pairs, [one.task_id for one in decided])
    counts = Counter((one.label.verdict, one.verdict) for one in labelled)
    return {
        "runs": len(labelled),
        "compared": len(pairs),
        "tasks": len({one.task_id for one in decided}),
        "agreement": agreement(pairs),
        "kappa": cohen_kappa(pairs),
        "kappa_ci95": None if spread is None else [spread.low, spread.high],
        "kappa_resampled": None if spread is None else spread.unit,
        "confusion": {label: {said: counts[label, said] for said in JUDGED} for label in ("PASS", "FAIL")},
        "too_kind": [one.label.run_id for one in decided if (one.label.verdict, one.verdict) == ("FAIL", "PASS")],
        "too_strict": [one.label.run_id for one in decided if (one.label.verdict, one.verdict) == ("PASS", "FAIL")],
        "failure_modes": list(_failure_modes(decided)),
        "ratings": {name: _rating(labelled, name) for name in RATINGS},
    }


def _failure_modes(decided: Sequence[Labelled]) -> Iterable[JsonObject]:
    """For each mode: of the runs that people call so, how many the judge failed and called the same; and back."""
    for mode in _MODES:
        theirs = [one for one in decided if one.label.failure_mode == mode]
        ours = [one for one in decided if one.judged is not None and one.judged.failure_mode == mode]
        if theirs or ours:
            yield {
                "failure_mode": mode,
                "labelled": len(theirs),
                "caught": sum(one.verdict == "FAIL" for one in theirs),
                "named": sum(one.judged is not None and one.judged.failure_mode == mode for one in theirs),
                "judged": len(ours),
                "confirmed": sum(one.label.verdict == "FAIL" for one in ours),
            }


def _rating(labelled: Sequence[Labelled], name: str) -> JsonObject | None:
    """How far a rating is from a person's: exactly, within one, and on average (above 0: the judge rates higher)."""
    pairs = [(getattr(one.label.ratings, name), getattr(one.judged, name, None)) for one in labelled]
    away = [judged - label for label, judged in pairs if label is not None and judged is not None]
    if not away:
        return None
    return {
        "runs": len(away),
        "exact": sum(step == 0 for step in away) / len(away),
        "within_one": sum(abs(step) <= 1 for step in away) / len(away),
        "mean_difference": fsum(away) / len(away),
    }


def retest_document(tries: Sequence[Sequence[str]]) -> JsonObject:
    """The test-retest figure as a document."""
    from steelyard.formulas.agreement import retest

    return asdict(retest(tries))
