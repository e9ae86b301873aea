"""The evidence bundle: all that a judge reads of a run, the same bytes for the same run, each part bounded.

Times are left out on purpose: they differ from run to run and say nothing that steps and tokens do not.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.domain.diff import Diff, FileChange, printable
from steelyard.domain.evidence import Evidence
from steelyard.domain.grade import ScorerResult
from steelyard.formulas.gates import overall
from steelyard.judge.fence import clean, middle_cut, tail_cut
from steelyard.judge.story import tell

DIFF_LIMIT = 60_000
TRAJECTORY_LIMIT = 80_000
RESPONSE_LIMIT = 20_000
OUTPUT_LIMIT = 4_000
OUTPUTS_LIMIT = 24_000
TASK_LIMIT = 40_000
RUBRIC_LIMIT = 20_000
PATHS_LIMIT = 200
ROWS_LIMIT = 200
_BINARY = re.compile(rb"^GIT binary patch\n(?:(?!diff --git ).*\n)*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of evidence, clean and bounded."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """What is judged. `task` and `rubrics` are the user's words, `parts` what the run left behind."""

    task: Part
    rubrics: tuple[Part, ...]
    expected_outcome: str
    is_ledger: bool
    objective: str
    parts: tuple[Part, ...]


def build_bundle(evidence: Evidence, secrets: Sequence[str] = ()) -> Bundle:
    """The bundle of a run; `secrets` are values that were given to the agent."""
    secrets = tuple(secrets)
    task = evidence.task
    parts = [
        Part("trajectory", tell(evidence.trajectory, TRAJECTORY_LIMIT, secrets)),
        Part("final response", middle_cut(evidence.final_response, RESPONSE_LIMIT, secrets) or "(empty)"),
    ]
    if not task.is_ledger:
        parts += [
            Part("changed files", _files(evidence.diff, secrets)),
            Part("diff", _diff(evidence.diff, secrets)),
            Part("test result", _result(evidence, secrets)),
            Part("scorers", _table(evidence.scorers, secrets)),
        ]
    parts.append(Part("command output", _outputs(evidence, secrets)))
    return Bundle(
        task=Part("task", middle_cut("\n\n".join(_turns(task.prompts)), TASK_LIMIT, secrets)),
        rubrics=tuple(_rubrics(evidence)),
        expected_outcome=task.expected_outcome,
        is_ledger=task.is_ledger,
        objective="N/A" if task.is_ledger else overall(evidence.scorers),
        parts=tuple(parts),
    )


def _turns(prompts: Sequence[str]) -> Iterator[str]:
    for number, prompt in enumerate(prompts, 1):
        yield prompt if len(prompts) == 1 else f"Turn {number}:\n{prompt}"


def _rubrics(evidence: Evidence) -> Iterator[Part]:
    for spec in evidence.task.scorers:
        if spec.get("type") == "llm_judge":
            yield Part(clean(str(spec.get("name", "rubric"))), clean(str(spec.get("rubric", "")))[:RUBRIC_LIMIT])


def _files(diff: Diff, secrets: Sequence[str]) -> str:
    if not diff.files:
        return "(no file was changed)"
    shown = [_file(change) for change in diff.files[:PATHS_LIMIT]]
    if len(diff.files) > PATHS_LIMIT:
        shown.append(f"[… and {len(diff.files) - PATHS_LIMIT:,} of {len(diff.files):,} changed files are not listed …]")
    return clean("\n".join(shown), secrets)


def _file(change: FileChange) -> str:
    if change.binary:
        counts = "binary"
    elif change.hunks:
        added, removed = (change.hunks.count(mark) for mark in (b"\n+", b"\n-"))
        counts = f"+{added:,} -{removed:,} lines"
    else:
        counts = f"+{len(change.added):,} -{len(change.removed):,} lines"
    return f"{change.kind}: {' -> '.join(printable(path) for path in change.paths)} ({counts})"


def _diff(diff: Diff, secrets: Sequence[str]) -> str:
    patch = diff.patch
    if not patch.strip():
        return "(empty)"
    if b"\nGIT binary patch\n" in patch:
        patch = _BINARY.sub(lambda found: b"[binary content, %d bytes of patch left out]\n" % len(found.group()), patch)
    return middle_cut(patch.decode("utf-8", "backslashreplace"), DIFF_LIMIT, secrets, " of the diff")


def _result(evidence: Evidence, secrets: Sequence[str]) -> str:
    """OVERALL with the commands that decided it, then the stages."""
    commands = {
        spec.get("name"): spec.get("command") for spec in evidence.task.scorers if spec.get("type") == "command"
    }
    lines = [f"OVERALL: {overall(evidence.scorers)}"]
    lines += [
        f"{result.verdict}: `{commands.get(result.name, '?')}` ({result.name}): {result.detail}"
        for result in evidence.scorers
        if result.type == "command"
    ]
    stages = {stage.name: stage.command for stage in evidence.task.stages}
    for attempt in evidence.stages[-ROWS_LIMIT:]:
        said = "passed" if attempt.passed else f"failed, exit {attempt.exit_code}"
        command = stages.get(attempt.name, "?")
        lines.append(f"stage {attempt.name}, attempt {attempt.attempt}: `{command}`: {said}")
    return middle_cut("\n".join(lines), OUTPUTS_LIMIT, secrets)


def _table(results: Sequence[ScorerResult], secrets: Sequence[str]) -> str:
    programs = [result for result in results if result.type != "llm_judge"]
    if not programs:
        return "(no scorer ran)"
    rows = ["verdict | score | required | type | name | detail"]
    for result in programs[:ROWS_LIMIT]:
        score = "-" if result.score is None else f"{result.score:.3f}"
        detail = " ".join(result.detail.split())
        rows.append(f"{result.verdict} | {score} | {result.standing} | {result.type} | {result.name} | {detail[:1000]}")
    if len(programs) > ROWS_LIMIT:
        rows.append(f"[… {len(programs) - ROWS_LIMIT} of {len(programs)} scorers are not listed …]")
    return middle_cut("\n".join(rows), OUTPUTS_LIMIT, secrets)


def _outputs(evidence: Evidence, secrets: Sequence[str]) -> str:
    """The ends of what commands printed; together no longer than `OUTPUTS_LIMIT`."""
    sources = [(f"scorer {one.name}", one.output_tail) for one in evidence.scorers]
    sources += [(f"stage {one.name}, attempt {one.attempt}", one.output_tail) for one in evidence.stages[-ROWS_LIMIT:]]
    sources.append((f"the agent's own stderr, exit {evidence.exit_code}", evidence.command_output))
    told = [(name, text) for name, text in sources if text.strip()]
    shown: list[str] = []
    room = OUTPUTS_LIMIT
    for number, (name, text) in enumerate(told):
        if room <= 0:
            shown.append(f"[… the output of {len(told) - number} of {len(told)} commands is left out …]")
            break
        piece = f"$ {clean(name, secrets)}\n{tail_cut(text.rstrip(), min(OUTPUT_LIMIT, room), secrets)}"
        room -= len(piece)
        shown.append(piece)
    return "\n\n".join(shown) or "(none)"
