"""A comparison for a terminal: aligned, plain, with colours only where the caller asks for them."""

from collections.abc import Callable, Sequence
from textwrap import fill

from steelyard.domain.comparison import Comparison
from steelyard.reports import words
from steelyard.reports.regressed import Against, against_of
from steelyard.reports.tables import Table
from steelyard.reports.view import Tone, View

Paint = Callable[[str, Tone], str]

MOST_REGRESSIONS = 10
WIDTH = 110
_COLOURS: dict[Tone, str] = {"good": "32", "bad": "31", "even": "33", "unknown": "35"}
_MARKS: dict[Tone, str] = {"good": "+", "bad": "-", "even": " ", "unknown": "?"}


def headline(comparison: Comparison) -> str:
    """The verdict and its reason in a few lines."""
    from steelyard.reports.sentences import promotion

    verdict = comparison.verdict or comparison.decision.choice
    gain = comparison.net_composite_gain
    lines = [f"{words.name(comparison.candidate)} against {words.name(comparison.baseline)}: {verdict.upper()}"]
    if gain is not None:
        tasks = words.many(len(comparison.tasks), "task")
        lines[0] += f" (net composite gain {words.composite(gain, sign=True)} over {tasks})"
    found = against_of(comparison)
    lines += [f"  {_kind(one)}: {one.task}: {'; '.join(one.details)}" for one in found[:MOST_REGRESSIONS]]
    if len(found) > MOST_REGRESSIONS:
        lines.append(f"  and on {words.many(len(found) - MOST_REGRESSIONS, 'more task')}")
    lines.append(f"  decision: {words.visible(comparison.decision.choice)}")
    lines.append(f"  promote: {promotion(comparison)}")
    return "\n".join(lines)


def _kind(one: Against) -> str:
    return "regression" if one.hard else "in doubt"


def render(view: View, *, colour: bool = False) -> str:
    """The whole report as text, ending in a newline."""
    paint = _painter(colour=colour)
    against = f"{view.candidate} against {view.baseline}: "
    parts = [
        against + paint(view.verdict.upper(), view.tone),
        f"  {view.why}",
        f"  decision: {view.decision}",
        f"  promote: {view.promotion}",
        _section("Arms", table(view.arms)),
        _section(f"Paired deltas, candidate minus baseline ({view.pairs})", _measures(view, paint)),
        _section("Decision gates", _gates(view, paint)),
    ]
    if view.others is not None:
        parts.append(_section(f"All arms against {view.baseline}", table(view.others)))
    parts.append(_section("Tasks, worst first", _tasks(view, paint)))
    if view.regressions:
        parts.append(_section("Regressions", _regressions(view, paint)))
    for heading, found in (
        ("What the judge said", view.judged),
        ("Gates that disagree", view.disagreements),
        ("Visible and hidden tests", view.hidden_gaps),
        ("Treatment received", view.treatment),
        ("Not counted", view.excluded),
        ("Runs without a partner", view.unpaired),
    ):
        if found is not None:
            parts.append(_section(heading, table(found)))
    for heading, lines in (("Parity: differences that were not declared", view.parity), ("Notes", view.notes)):
        if lines:
            parts.append(_section(heading, _listed(lines)))
    parts.append(_section("Method", _listed(view.method)))
    return "\n".join(parts) + "\n"


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text, the first to the left, the others to the right."""
    grid = [list(heads), *map(list, rows)]
    widths = [max(len(row[i]) for row in grid) for i in range(len(heads))]
    return [
        "  ".join(
            c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in grid
    ]


def table(found: Table) -> str:
    """A table as lines."""
    lines = aligned(found.heads, found.rows)
    if found.left_out:
        lines.append(f"({found.left_out:,} more not shown)")
    return "\n".join(lines)


def _listed(lines: Sequence[str]) -> str:
    kept = (line.replace(" %", "\u00a0%") for line in lines)  # a number and its % stay on one line
    return "\n".join(
        fill(line, WIDTH, initial_indent="- ", subsequent_indent="  ").replace("\u00a0", " ") for line in kept
    )


def _section(heading: str, body: str) -> str:
    indented = "\n".join(f"  {line}".rstrip() for line in body.split("\n"))
    return f"\n{heading}\n{indented}"


def _painter(*, colour: bool) -> Paint:
    def paint(text: str, tone: Tone) -> str:
        return f"\x1b[{_COLOURS[tone]}m{text}\x1b[0m" if colour else text

    return paint


def _painted(heads: Sequence[str], rows: Sequence[Sequence[str]], tones: Sequence[Tone], paint: Paint) -> str:
    """A table whose rows have a tone: a mark for everybody, a colour on a terminal."""
    lines = aligned(heads, rows)
    marked = [f"{_MARKS[tone]} {line}" for tone, line in zip(tones, lines[1:], strict=True)]
    return "\n".join([f"  {lines[0]}", *(paint(line, tone) for line, tone in zip(marked, tones, strict=True))])


def _measures(view: View, paint: Paint) -> str:
    heads = ("measure", "mean", "median", "95 % interval", "p", "pairs", "could have seen", "repeats needed")
    rows = [(m.label, m.mean, m.median, m.interval, m.p, m.pairs, m.detectable, m.needed) for m in view.measures]
    return _painted(heads, rows, [m.tone for m in view.measures], paint)


def _gates(view: View, paint: Paint) -> str:
    tones: dict[str, Tone] = {"holds": "good", "fails": "bad", "unknown": "unknown"}
    rows = [(f"{gate.label} {gate.rule}", gate.baseline, gate.candidate, gate.answer) for gate in view.gates]
    heads = ("gate", view.baseline, view.candidate, "answer")
    return _painted(heads, rows, [tones[gate.answer] for gate in view.gates], paint)


def _tasks(view: View, paint: Paint) -> str:
    if not view.tasks:
        return "no task was run by either arm"
    heads = ("task", view.baseline, view.candidate, "delta", "passed", "runs", "")
    rows = [(t.name, t.baseline, t.candidate, t.delta, t.passed, t.runs, t.remark) for t in view.tasks]
    body = _painted(heads, rows, [t.tone for t in view.tasks], paint)
    if view.tasks_left_out:
        body += f"\n({words.many(view.tasks_left_out, 'task')} with changes between these not shown; --json has all)"
    return body


def _regressions(view: View, paint: Paint) -> str:
    lines = []
    for one in view.regressions:
        lines.append(paint(f"{_kind(one)}: {one.task}: {'; '.join(one.details)}", "bad" if one.hard else "even"))
        runs = [run.run_id for run in (*one.candidate_runs, *one.baseline_runs[:1])]
        if runs:
            lines.append(f"      see: {', '.join(runs)}")
    if view.regressions_left_out:
        lines.append(f"({view.regressions_left_out:,} more not shown; --json has all)")
    return "\n".join(lines)
