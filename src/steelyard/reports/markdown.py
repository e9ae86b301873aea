"""A comparison for a pull request: verdict first, then tables; what is long is folded."""

import re
from collections.abc import Sequence

from steelyard.reports import words
from steelyard.reports.regressed import Against
from steelyard.reports.tables import Table
from steelyard.reports.view import View

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~!]|^[#+=-])")
_MARKS = {"good": "✅", "bad": "❌", "even": "⚖️", "unknown": "❔"}
OPEN_TASKS = 10
_WORDS = frozenset(
    ("remark", "verdict", "answer", "reason", "reading", "see", "files", "decision", "failure modes", "judge")
)  # columns that hold words


def render(view: View) -> str:
    """The whole report as GitHub Markdown, ending in a newline."""
    parts = [
        f"## {_MARKS[view.tone]} {prose(view.verdict)}: {code(view.candidate)} against {code(view.baseline)}",
        f"{prose(view.why)}\n\n**Decision:** {prose(view.decision)}  \n**Promote:** {prose(view.promotion)}",
        *_regressions(view),
        f"### Arms\n\n{table(view.arms, named=1)}",
        f"### Paired deltas\n\nCandidate minus baseline: {prose(view.pairs)}.\n\n{_measures(view)}",
        f"### Decision gates\n\n{_gates(view)}",
    ]
    if view.others is not None:
        parts.append(f"### All arms against {code(view.baseline)}\n\n{table(view.others, named=1)}")
    parts.append(_tasks(view))
    if view.judged is not None:
        parts.append(f"### What the judge said\n\n{table(view.judged, named=1)}")
    if view.disagreements is not None:
        parts.append(f"### Gates that disagree\n\n{table(view.disagreements, named=1)}")
    if view.hidden_gaps is not None:
        parts.append(f"### Visible and hidden tests\n\n{table(view.hidden_gaps, named=1)}")
    if view.treatment is not None:
        parts.append(f"### Treatment received\n\n{table(view.treatment, named=1)}")
    if view.parity:
        parts.append(f"### Differences that were not declared\n\n{_listed(view.parity)}")
    if view.notes:
        parts.append(f"### Notes\n\n{_listed(view.notes)}")
    parts.append(folded("Cost, time and tokens", table(view.consumption)))
    if view.excluded is not None:
        parts.append(folded("Runs that do not count", table(view.excluded, named=1)))
    if view.unpaired is not None:
        parts.append(folded("Runs without a partner", table(view.unpaired, named=2)))
    parts.append(folded("Method", _listed(view.method)))
    return "\n\n".join(parts) + "\n"


def prose(text: str) -> str:
    """Text that stays text: no markup, no mention of a person, no reference that could close an issue."""
    escaped = _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;")).replace("\\<", "&lt;").replace("\\>", "&gt;")
    return re.sub(r"([@#])(?=\w)", r"\1<!-- -->", escaped).replace("://", ":<!-- -->//").replace("www.", "www<!-- -->.")


def code(text: str) -> str:
    """A name as code, which GitHub reads as nothing else, whatever backticks it holds."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def table(found: Table, named: int = 0) -> str:
    """A table whose first `named` columns hold names from outside."""
    rows = [[_cell(code(c) if i < named else prose(c)) for i, c in enumerate(row)] for row in found.rows]
    text = _grid([_cell(prose(head)) for head in found.heads], rows)
    return text + (f"\n\n{found.left_out:,} more not shown." if found.left_out else "")


def folded(summary: str, body: str) -> str:
    """A part that opens on a click."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _cell(text: str) -> str:
    """A bar ends a cell even inside code; prose has its bars escaped already."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---" if place == 0 or head in _WORDS else "---:" for place, head in enumerate(heads)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {prose(line)}" for line in lines)


def _measures(view: View) -> str:
    heads = ("measure", "mean", "median", "95 % interval", "p", "pairs", "could have seen", "repeats needed")
    rows = tuple((m.label, m.mean, m.median, m.interval, m.p, m.pairs, m.detectable, m.needed) for m in view.measures)
    return table(Table(heads, rows))


def _gates(view: View) -> str:
    marks = {"holds": "✅ holds", "fails": "❌ fails", "unknown": "❔ unknown"}
    rows = [
        [prose(f"{g.label} {g.rule}"), _cell(prose(g.baseline)), _cell(prose(g.candidate)), marks[g.answer]]
        for g in view.gates
    ]
    return _grid(["gate", _cell(code(view.baseline)), _cell(code(view.candidate)), "answer"], rows)


def _tasks(view: View) -> str:
    heads = ("task", "baseline", "candidate", "delta", "passed", "runs", "remark")
    rows = tuple((t.name, t.baseline, t.candidate, t.delta, t.passed, t.runs, t.remark) for t in view.tasks)
    body = table(Table(heads, rows), named=1) if rows else "No task was run by either arm."
    if view.tasks_left_out:
        body += f"\n\n{words.many(view.tasks_left_out, 'task')} with changes between these not shown."
    if len(rows) > OPEN_TASKS:
        return folded(f"Tasks ({len(rows)} shown, worst first)", body)
    return f"### Tasks, worst first\n\n{body}"


def _regressions(view: View) -> list[str]:
    if not view.regressions:
        return []
    lines = [
        f"- {'**hard**' if one.hard else 'in doubt'} {code(one.task)}: {prose('; '.join(one.details))}{_runs(one)}"
        for one in view.regressions
    ]
    if view.regressions_left_out:
        lines.append(f"- and on {words.many(view.regressions_left_out, 'more task')}")
    body = "\n".join(lines)
    return [
        f"### Regressions\n\n{body}"
        if len(lines) <= OPEN_TASKS
        else folded(f"Regressions on {words.many(len(view.regressions) + view.regressions_left_out, 'task')}", body)
    ]


def _runs(one: Against) -> str:
    shown = [f"[{code(run.run_id)}]({run.href})" if run.href else code(run.run_id) for run in one.candidate_runs]
    return f" ({', '.join(shown)})" if shown else ""
