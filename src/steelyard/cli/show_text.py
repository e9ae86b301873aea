"""A run as text for people, section by section."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import say
from steelyard.cli.table import one_line, print_table

if TYPE_CHECKING:
    from steelyard.domain.grade import JudgeResult, ScorerResult
    from steelyard.domain.run import Run
    from steelyard.domain.score import Scorecard
    from steelyard.store.rows import StoredRun

_LONGEST = 2000


def show_run(stored: "StoredRun") -> None:
    """All sections that have something to say."""
    run = stored.run
    _head(stored)
    _turns(run)
    _stages(run)
    scorers = stored.gradings[-1].scorers if stored.gradings else run.scorers
    _scorers(scorers, regraded=stored.gradings[-1].graded_at if stored.gradings else None)
    if stored.judgements:
        _judge(stored.judgements[-1], len(stored.judgements))
    if run.imported is None or stored.scorecard is not None:
        _scorecard(stored.scorecard, len(stored.scores))
    else:
        _stated(stored)
    _measured(run)
    if run.final_response:
        say("\nfinal response")
        _indented(run.final_response)


def show_trajectory(text: str) -> None:
    """Each step on its own lines: who, the message, the tools called and what came back."""
    try:
        steps = json.loads(text).get("steps", ())
    except ValueError:
        say(text)
        return
    for step in steps:
        say(f"\n[{step.get('step_id')}] {step.get('source')}")
        if step.get("message"):
            _indented(_as_text(step["message"]))
        for call in step.get("tool_calls") or ():
            say(f"  → {call.get('function_name')} {cut(_as_text(call.get('arguments')))}")
        for result in (step.get("observation") or {}).get("results") or ():
            if result.get("content"):
                _indented(cut(_as_text(result["content"])), by="    ")


def _head(stored: "StoredRun") -> None:
    run, gates = stored.run, stored.gates
    say(f"run {run.run_id}" + (" (replaced by a later try)" if stored.replaced else ""))
    say(f"  {one_line(run.task_id)} × {one_line(run.arm)} × repeat {run.repeat}, attempt {run.attempt}")
    say(f"  experiment {run.experiment}, workspace {run.workspace}, task {run.task_sha256[:12]}")
    say(f"  {run.status}, {run.outcome}, {run.started_at} to {run.finished_at}, {run.wall_s:.2f} s")
    if run.error_class:
        kind = "infrastructure" if run.is_infrastructure else "agent"
        say(f"  {kind} failure {run.error_class}: {one_line(run.error_detail or 'no detail')}")
    say(f"  gates: objective {gates.objective}, judge {gates.judge}, run {gates.run}")
    if gates.disagreement:
        say(f"  disagreement: {gates.disagreement}")
    for text in run.notes:
        say(f"  note: {one_line(text)}")


def _turns(run: "Run") -> None:
    """Turn by turn what was said and used, where there was more than one."""
    if len(run.turns) < 2:
        return
    say("\nturns")
    for number, turn in enumerate(run.turns, 1):
        failed = f", {turn.error_class}" if turn.error_class else ""
        say(f"  {number} {turn.kind}, {turn.duration_s:.2f} s{failed}: {_short(turn.prompt)}")
        say(f"      usage: {_known(turn.usage)}")


def _stages(run: "Run") -> None:
    if not run.stages:
        return
    say("\nstages")
    for attempt in run.stages:
        said = "passed" if attempt.passed else f"failed, exit {attempt.exit_code}"
        late = ", timed out" if attempt.timed_out else ""
        say(f"  {one_line(attempt.name)}, attempt {attempt.attempt}: {said}{late}, {attempt.duration_s:.2f} s")
        if not attempt.passed and attempt.output_tail:
            _indented(attempt.output_tail, by="      ")


def _scorers(scorers: "Iterable[ScorerResult]", *, regraded: str | None) -> None:
    from steelyard.formulas.gates import mean_score, overall

    results = tuple(scorers)
    if not results:
        return
    mean = mean_score(results)
    when = f", graded again {regraded}" if regraded else ""
    say(f"\nscorers: OVERALL {overall(results)}, mean score {'-' if mean is None else f'{mean:.3f}'}{when}")
    for result in results:
        mark = "" if result.required else f" ({result.standing})"
        broken = ", the scorer itself crashed" if result.crashed else ""
        say(f"  {result.verdict:<4} {one_line(result.name)} [{result.type}]{mark}{broken}: {one_line(result.detail)}")
        for finding in result.findings:
            line = "" if finding.line is None else f":{finding.line}"
            say(f"       {one_line(finding.path)}{line}: {finding.rule}: {one_line(finding.message)}")
        if result.output_tail:
            _indented(result.output_tail, by="       | ")


def _judge(judged: "JudgeResult", count: int) -> None:
    earlier = f", {count - 1} earlier" if count > 1 else ""
    say(f"\njudge: {judged.verdict} by {judged.backend} {judged.model}, {judged.scored_at}{earlier}")
    if judged.judge01 is not None:
        say(
            f"  task completion {judged.task_completion}/5, instruction adherence {judged.instruction_adherence}/5, "
            f"efficiency {judged.efficiency}/5"
        )
    if judged.failure_mode:
        say(f"  failure mode: {judged.failure_mode}")
    for check in judged.fact_checks:
        say(f"  {check.status}: {one_line(check.claim)} ({one_line(check.evidence)})")
    if judged.reasoning:
        _indented(judged.reasoning)
    if judged.raw:
        say("  it replied")
        _indented(cut(judged.raw), by="    | ")
    footprint = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd")
    known = [f"{name} {getattr(judged, name):g}" for name in footprint if getattr(judged, name) is not None]
    kept = ", answered from the cache" if judged.cached else ""
    say(f"  prompt version {judged.prompt_version}, {', '.join([*known, f'{judged.duration_s:.2f} s'])}{kept}")


def _scorecard(card: "Scorecard | None", versions: int) -> None:
    if card is None:
        say("\nscorecard: Unranked (an infrastructure failure is not scored)")
        return
    say(f"\nscorecard: {card.score} {card.tier} (formula {card.formula_version}, version {versions})")
    rows = []
    for axis, value in card.axes.model_dump().items():
        default = "could not be measured: 50" if axis in card.defaulted_axes else ""
        rows.append(("", axis, str(value), f"× {getattr(card.weights, axis):g}", default))
    print_table(("", "axis", "points", "weight", ""), rows)


def _stated(stored: "StoredRun") -> None:
    from steelyard.cli.show import stated_score

    score, tier = stated_score(stored)
    known = "none is stated" if score is None else f"{score} {one_line(tier)}"
    say(f"\nscorecard: {known} (an imported run: what its record says, without axes)")


def _measured(run: "Run") -> None:
    from steelyard.reports.words import many

    say("\nmeasured")
    change = many(len(run.changed_files), "file")
    if run.added_lines is not None and run.removed_lines is not None:
        change += f", +{run.added_lines} -{run.removed_lines} lines"
    say(f"  change: {change}")
    for path in run.changed_files[:50]:
        say(f"    {one_line(path)}")
    if len(run.changed_files) > 50:
        say(f"    … and {len(run.changed_files) - 50} more")
    if run.timings:
        say("  seconds: " + ", ".join(f"{one_line(name)} {value:.2f}" for name, value in run.timings.items()))
    say(f"  usage: {_known(run.usage)}")
    say(f"  resources: {_known(run.resources)}")
    say(f"  ran with: {_known(run.parity)}")
    say(f"  artifacts: {', '.join(sorted(run.artifacts)) or 'none'}")


def _known(record: Any) -> str:
    """The fields of a record that are known, in a row."""
    known = {name: value for name, value in record.model_dump(mode="json").items() if value not in (None, [], {}, "")}
    return one_line(", ".join(f"{name} {_as_text(value)}" for name, value in known.items())) or "unknown"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    line = one_line(" ".join(text.split()))
    return line if len(line) <= 100 else f"{line[:99]}…"


def cut(text: str) -> str:
    """A text that is not too long to be shown among others."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST} characters more)"


def _indented(text: str, *, by: str = "  ") -> None:
    for line in text.rstrip("\n").split("\n"):
        if line or text:
            say(f"{by}{line}")
