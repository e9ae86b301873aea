"""A run made of a run record from elsewhere: what the record states, and nothing that would be a guess."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import get_args

from steelyard.domain.grade import ScorerResult
from steelyard.domain.run import Outcome, Parity, Run, Status
from steelyard.domain.run_record import RunRecord
from steelyard.domain.usage import Usage
from steelyard.errors import INFRASTRUCTURE, AgentClass

KNOWN_ERRORS = INFRASTRUCTURE | frozenset(get_args(AgentClass))
UNKNOWN = "unknown"
NOTE = "imported from a run record: there is no diff, trajectory or output"


@dataclass(frozen=True)
class Destination:
    """Where imported runs go, and the instant that stands in for a start that a record does not state."""

    experiment: str
    workspace: str
    now: str


def run_of_record(record: RunRecord, line: str, to: Destination) -> Run:
    """The run that a record tells of; `line` is kept word for word, so that exporting gives it back."""
    started, finished = _times(record, to.now)
    known = record.error_class if record.error_class in KNOWN_ERRORS else None
    return Run(
        run_id=record.run_id,
        experiment=to.experiment,
        workspace=to.workspace,
        task_id=record.task_id,
        arm=record.arm,
        repeat=record.repeat,
        task_sha256=UNKNOWN,
        status=_status(record),
        outcome=_outcome(record),
        error_class=known,  # type: ignore[arg-type]  # one of the literals, as was just looked up
        error_detail=None if record.error_class is None else f"error_class {record.error_class}",
        started_at=started,
        finished_at=finished,
        wall_s=record.duration_seconds,
        scorers=() if record.error_class in INFRASTRUCTURE else (_success(record),),
        usage=Usage(
            input_tokens=record.input_tokens,
            output_tokens=record.output_tokens,
            cache_read_tokens=record.cache_read_tokens,
            cache_write_tokens=record.cache_write_tokens,
            cost_usd=record.total_cost_usd,
            cost_source=UNKNOWN if record.total_cost_usd is None else "reported",  # type: ignore[arg-type]  # a literal
            steps=record.step_count,
            tool_calls=record.tool_call_count,
        ),
        parity=Parity(agent=UNKNOWN, sandbox=UNKNOWN),
        notes=(NOTE,),
        imported=line,
    )


def _success(record: RunRecord) -> ScorerResult:
    """What the record says of success, as the one check there is."""
    return ScorerResult(
        name="success",
        type="imported",
        verdict="PASS" if record.success else "FAIL",
        score=float(record.success),
        required=True,
        detail="as the imported record states it",
        duration_s=0.0,
    )


def _status(record: RunRecord) -> Status:
    if record.error_class is None:
        return "completed"
    return "interrupted" if record.error_class == "interrupted" else "failed"


def _outcome(record: RunRecord) -> Outcome:
    """A record does not tell whether a run that failed left something usable: FAILED says the least."""
    return "COMPLETED" if record.success and record.error_class is None else "FAILED"


def _times(record: RunRecord, now: str) -> tuple[str, str]:
    if record.started_at is None:
        return now, now
    try:
        start = datetime.fromisoformat(record.started_at)
        start = (start if start.tzinfo else start.replace(tzinfo=UTC)).astimezone(UTC)
        end = start + timedelta(seconds=record.duration_seconds)
    except (ValueError, OverflowError):
        return now, now  # the line itself keeps what was stated
    return start.isoformat(), end.isoformat()
