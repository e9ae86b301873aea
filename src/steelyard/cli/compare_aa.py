"""steelyard compare --aa: how often the verdict rule cries improved or regressed on noise alone."""

import argparse
from typing import TYPE_CHECKING

from steelyard.cli.output import emit_json, note
from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.cli.weighing import Weighing
    from steelyard.compare.aa import AaReport
    from steelyard.compare.table import RecordTable


def answer_aa(weighing: "Weighing", args: argparse.Namespace, kind: str) -> int:
    """Split one arm against itself many times, and say what came of it."""
    from steelyard.cli.compare import print_report
    from steelyard.cli.files import write_whole
    from steelyard.compare.aa import aa_check

    if kind in {"md", "html"}:
        raise InputError(f"--aa answers as text or json, not {kind}")
    table = weighing.table
    arm = chosen_arm(table, args.aa or args.baseline, weighing.spec.baseline)
    report = aa_check(table, arm, weighing.spec, args.min_repeats)
    text = text_of(report)
    if kind == "json" and args.output is None:
        emit_json(report.document())
    elif args.output is not None:
        import json

        write_whole(args.output, json.dumps(report.document(), indent=2) + "\n" if kind == "json" else text)
        note(f"written: {args.output}")
        if args.json:
            emit_json(report.document())
    else:
        print_report(text)
    return 0


def chosen_arm(table: "RecordTable", wanted: str | None, default: str | None) -> str:
    """The arm that was named, else the suite's baseline, else the only one."""
    if wanted is None and default in table.arms:
        return str(default)
    if wanted is None and len(table.arms) == 1:
        return table.arms[0]
    if wanted is None:
        raise InputError(f"--aa: say which arm to split: --aa ARM (arms: {', '.join(table.arms)})")
    if wanted not in table.arms:
        from difflib import get_close_matches

        near = get_close_matches(wanted, table.arms, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise InputError(f"--aa: no arm is called '{wanted}'{hint} (arms: {', '.join(table.arms)})")
    return wanted


def text_of(report: "AaReport") -> str:
    """The check in a few lines for people."""
    from steelyard.reports.text import aligned
    from steelyard.reports.words import composite, many, name, percent

    rows = [
        (verdict, f"{getattr(report, field):,}", percent(getattr(report, field) / report.splits))
        for verdict, field in (
            ("improved", "improved"),
            ("neutral", "neutral"),
            ("regressed", "regressed"),
            ("no verdict", "no_verdict"),
            ("promoted", "promoted"),
        )
    ]
    wrong = (report.improved + report.regressed) / report.splits
    opening = (
        f"{name(report.arm)} split against itself {many(report.splits, 'time')}: "
        f"{many(report.tasks, 'task')}, at least {many(report.repeats, 'repeat')} in each half"
    )
    lines = [
        opening,
        "",
        *(f"  {line}" for line in aligned(("verdict", "splits", "share"), rows)),
        "",
        f"The rule calls {percent(wrong)} of differences that are chance alone improved or regressed.",
    ]
    if report.intervals:
        share = percent(report.false_interval / report.intervals)
        lines.append(
            f"The 95 % interval left out zero in {share} of {many(report.intervals, 'split')}; 5 % is nominal."
        )
    else:
        lines.append("There are too few tasks for intervals.")
    if report.mean_delta is not None:
        measure = "composite" if report.no_verdict < report.splits else "pass rate"
        lean = composite(report.mean_delta, sign=True)
        lines.append(f"The halves differ in {measure} by {lean} on average; a rule without a lean gives 0.")
    if wrong > 0.05:
        lines.append("More repeats make this rarer, and so does --regressions significant.")
    if report.left_out_tasks:
        shown = ", ".join(name(task) for task in report.left_out_tasks[:5])
        more = ", …" if len(report.left_out_tasks) > 5 else ""
        lines.append(f"Left out, with fewer than two counted repeats: {shown}{more}")
    return "\n".join(lines) + "\n"
