"""The words of a promotion: branch, commit message, title and body."""

import re
from collections.abc import Sequence

from steelyard.domain.comparison import Comparison
from steelyard.promote.ranking import Entrant
from steelyard.reports.markdown import code, prose
from steelyard.reports.render import render
from steelyard.reports.words import many

LONGEST_TITLE = 120
MOST_RANKED = 50


def branch_name(kind: str, *parts: str) -> str:
    """A branch's name that git takes, made of names that may hold anything."""
    words = [re.sub(r"[^A-Za-z0-9]+", "-", part).strip("-")[:60] for part in parts]
    return "/".join(["steelyard", "-".join([kind, *(word for word in words if word)])])


def one_line(text: str, longest: int = LONGEST_TITLE) -> str:
    """A text without line breaks or control characters, cut to a length."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    words = " ".join(plain.split())
    return words if len(words) <= longest else words[: longest - 1] + "…"


def candidate_title(comparison: Comparison) -> str:
    """What the pull request of a candidate is called."""
    gain = comparison.net_composite_gain
    by = "" if gain is None else f", net composite gain {gain:+.4f}"
    return one_line(f"Promote {comparison.candidate}: {comparison.verdict or 'no verdict'}{by}")


def candidate_message(comparison: Comparison, experiment: str) -> str:
    """The commit message of a candidate."""
    low = comparison.paired.composite_delta.ci95
    names = f"{one_line(comparison.candidate)} was weighed against {one_line(comparison.baseline)}"
    size = f"{many(len(comparison.tasks), 'task')}, at least {many(comparison.fewest_repeats, 'repeat')} each"
    lines = [
        f"{names} on {size}: {comparison.verdict}.",
        f"Composite delta, mean of pairs: {_number(comparison.paired.composite_delta.mean)}"
        + (f", 95 % interval {low[0]:.4f} to {low[1]:.4f}." if low else "."),
        f"Decision: {one_line(comparison.decision.choice)}.",
    ]
    return _message(candidate_title(comparison), lines, experiment)


def candidate_body(comparison: Comparison, experiment: str) -> str:
    """The evidence, as Markdown."""
    return f"{render(comparison, 'md')}\nExperiment {code(one_line(experiment))}, weighed by Steelyard.\n"


def winner_title(best: Entrant) -> str:
    """What the pull request of a winning run is called."""
    return one_line(f"{best.run.task_id}: the change of {best.run.arm} ({best.score} {best.tier})")


def winner_message(best: Entrant, entrants: int, experiment: str) -> str:
    """The commit message of a winning run."""
    run = best.run
    line = (
        f"Of {entrants} runs on the task, {one_line(run.run_id)} ({one_line(run.arm)}, repeat {run.repeat}) has the "
        f"highest scorecard among those that passed their gates: {best.score}, {best.tier}."
    )
    return _message(winner_title(best), [line], experiment)


def winner_body(ranking: Sequence[Entrant], best: Entrant, experiment: str) -> str:
    """The ranking and what the scorers said of the winner, as Markdown."""
    heads = ("place", "run", "arm", "score", "tier", "composite", "cost", "")
    shown = [ranking_row(place, one) for place, one in enumerate(ranking[:MOST_RANKED], 1)]
    rows = [[code(cell) if column in (1, 2) else prose(cell) for column, cell in enumerate(row)] for row in shown]
    scorers = [
        (
            prose(one_line(r.name)),
            prose(r.type),
            r.verdict,
            "yes" if r.required else r.standing,
            prose(one_line(r.detail)),
        )
        for r in best.run.scorers
    ]
    more = f"\n\n{len(ranking) - MOST_RANKED} more runs are not shown." if len(ranking) > MOST_RANKED else ""
    return (
        f"## {code(one_line(best.run.arm))} won {code(one_line(best.run.task_id))} with {best.score} ({best.tier})\n\n"
        f"The highest scorecard among the runs that passed their objective and run gates.\n\n"
        f"### Ranking\n\n{_table(heads, rows)}"
        f"{more}\n\n### What the scorers said\n\n"
        f"{_table(('scorer', 'type', 'verdict', 'required', 'detail'), scorers)}\n\n"
        f"Experiment {code(one_line(experiment))}, run {code(one_line(best.run.run_id))}, weighed by Steelyard.\n"
    )


def ranking_row(place: int, one: Entrant) -> tuple[str, ...]:
    """One line of the ranking."""
    cost = one.run.usage.cost_usd
    return (
        "-" if one.out else str(place),
        one_line(one.run.run_id),
        one_line(one.run.arm),
        "-" if one.score is None else str(one.score),
        one.tier,
        _number(one.composite),
        "unknown" if cost is None else f"${cost:.4f}",
        f"out: {one_line(one.out)}" if one.out else "",
    )


def _message(subject: str, lines: Sequence[str], experiment: str) -> str:
    body = "\n".join(lines)
    return f"{subject}\n\n{body}\n\nSteelyard-Experiment: {one_line(experiment, 200)}\n"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    grid = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in row) + " |" for row in grid)
