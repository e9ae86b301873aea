"""The charts of a report: built once with Altair, drawn by the page itself and, for paper and no scripts, as SVG."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from steelyard.errors import InputError
from steelyard.reports.view import Measure, Task, View

MISSING = "an HTML report needs the extra 'report': pip install 'steelyard[report]' (text, json and md work without it)"
# Colours that can be told apart without red and green, on white and on black.
COLOURS = {"good": "#0f9d76", "bad": "#d9534f", "even": "#8a8f98", "unknown": "#8a8f98"}
LABELS = {"good": "favours candidate", "bad": "favours baseline", "even": "crosses zero", "unknown": "no interval"}
WIDTH = 780
_ROW = 22


@dataclass(frozen=True)
class Chart:
    """A chart: its Vega-Lite specification, the same as SVG, and what it shows in words."""

    key: str
    spec: dict[str, Any]
    svg: str
    label: str


def charts_of(view: View) -> tuple[Chart, ...]:
    """The charts that there is something to draw in."""
    tasks = [task for task in view.tasks if task.number is not None]
    measures = [measure for measure in view.measures if measure.numbers is not None]
    found = []
    if measures:
        label = "Mean paired deltas with 95 % intervals: composite, pass rate, cost, duration and tokens"
        found.append(_drawn("forest", forest(measures), label))
    if tasks:
        found.append(_drawn("tasks", task_deltas(tasks), "Change of the composite, task by task"))
    return tuple(found)


def task_deltas(tasks: list[Task]) -> Any:
    """A bar a task: the change of its composite, the worst at the top."""
    alt = load_altair()
    rows = [
        {"task": _unique(i, task.name, tasks), "delta": task.number, "shown": task.delta, "tone": task.tone}
        for i, task in enumerate(tasks)
    ]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(cornerRadius=2, height=12)
        .encode(
            y=alt.Y("task:N", sort=None, title=None, axis=_names()),
            x=alt.X(
                "delta:Q",
                title="change of the composite (candidate − baseline)",
                axis=alt.Axis(format=".3~f", tickCount=8),
            ),
            color=_colour({"good": "gain", "bad": "loss", "even": "no change"}),
            tooltip=[alt.Tooltip("task:N", title="task"), alt.Tooltip("shown:N", title="delta")],
        )
        .properties(width=WIDTH, height=alt.Step(_ROW))
    )


def forest(measures: list[Measure]) -> Any:
    """A row a measure, each on its own scale with zero in it: the mean as a dot, the 95 % interval as a line."""
    alt = load_altair()
    return alt.vconcat(*map(_forest_row, measures), spacing=6)


def _forest_row(measure: Measure) -> Any:
    alt = load_altair()
    mean, low, high = measure.numbers or (0.0, None, None)
    row = {
        "name": measure.label,
        "mean": mean,
        "low": low,
        "high": high,
        "tone": measure.tone,
        "shown": measure.mean,
        "interval": measure.interval,
    }
    data = alt.Data(values=[row])
    reach = max(abs(value) for value in (mean, low or 0.0, high or 0.0)) * 1.15 or 1.0
    x = alt.X(
        "mean:Q",
        title=None,
        scale=alt.Scale(domain=[-reach, reach], nice=False),
        axis=alt.Axis(tickCount=5, format=",.0f" if reach >= 1000 else ".3~g"),
    )
    y = alt.Y("name:N", title=None, axis=_names())
    tips = [
        alt.Tooltip("name:N", title="measure"),
        alt.Tooltip("shown:N", title="mean"),
        alt.Tooltip("interval:N", title="95 % interval"),
    ]
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[3, 3], color="#8a8f98").encode(x="zero:Q")
    marks = [zero]
    if low is not None:
        line = alt.Chart(data).mark_rule(strokeWidth=3).encode(y=y, x=alt.X("low:Q", title=None), x2="high:Q")
        marks.append(line.encode(color=_colour(LABELS), tooltip=tips))
    dot = (
        alt.Chart(data)
        .mark_point(size=90, filled=True, opacity=1)
        .encode(y=y, x=x, color=_colour(LABELS), tooltip=tips)
    )
    return alt.layer(*marks, dot).properties(width=WIDTH, height=30)


def _names() -> Any:
    """Names to the left, of the same width in every chart so that they line up."""
    return load_altair().Axis(labelLimit=220, minExtent=120, ticks=False, domain=False)


def _colour(labels: dict[str, str]) -> Any:
    alt = load_altair()
    return alt.Color("tone:N", legend=None, scale=alt.Scale(domain=list(labels), range=[COLOURS[t] for t in labels]))


def _unique(place: int, name: str, tasks: list[Task]) -> str:
    """Names that were cut to the same text stay apart."""
    same = sum(task.name == name for task in tasks[:place])
    return name + "\u200b" * same


def _drawn(key: str, chart: Any, label: str) -> Chart:
    import vl_convert

    alt = load_altair()
    spec = chart.configure(
        view=alt.ViewConfig(stroke=None),
        background="transparent",
        font="system-ui, sans-serif",
        axis=alt.AxisConfig(
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelColor="#666", titleColor="#666"
        ),
    ).to_dict()
    svg = vl_convert.vegalite_to_svg(spec, vl_version=_version())
    return Chart(key, spec, _own_ids(svg, key), label)


def _own_ids(svg: str, key: str) -> str:
    """Ids that differ between the drawings of one page and are the same each time: the library only counts on."""
    numbers: dict[str, int] = {}

    def renamed(match: re.Match[str]) -> str:
        return f"{match[1]}{key}-{numbers.setdefault(match[2], len(numbers) + 1)}"

    return re.sub(r'(\bid="|url\(#|href="#)([\w-]+)', renamed, svg)


def load_altair() -> Any:
    """Altair, or the remedy when the extra is not there."""
    try:
        import altair
        import vl_convert  # noqa: F401  # both come with the extra
    except ImportError:
        raise InputError(MISSING) from None
    return altair


@cache
def javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, for a page that asks nobody for anything."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(vl_version=_version())  # type: ignore[call-arg]  # its stub forgets the default
    return bundle


def _version() -> str:
    """The Vega-Lite version that Altair writes for, as vl-convert names it."""
    return ".".join(load_altair().SCHEMA_VERSION.removeprefix("v").split(".")[:2])
