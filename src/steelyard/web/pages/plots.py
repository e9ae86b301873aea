"""Plots as SVG, drawn by the server: shapes in percent of the plot, so that a page stretches them and no text.

A dot is a line of no length with round ends: stretched, it stays round.
"""

from dataclasses import dataclass
from datetime import date
from typing import Any

from steelyard.domain.record import JsonObject

TIERS = (("Bronze", 0, 40), ("Silver", 40, 70), ("Gold", 70, 90), ("Elite", 90, 100))


@dataclass(frozen=True)
class Dot:
    """A point: where it is, its colour and what it says."""

    x: float
    y: float
    tone: str
    words: str


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    words: str = ""


@dataclass(frozen=True)
class Plot:
    """What is drawn, and what stands at the ends of its axes."""

    line: str
    band: str
    dots: list[Dot]
    boxes: list[Box]
    top: str
    bottom: str
    left: str
    right: str
    label: str


def tier_of(score: float) -> str:
    """The tier that a mean score falls into."""
    return next(name for name, low, _ in reversed(TIERS) if score >= low)


def trend_plot(points: list[JsonObject], since: str, until: str) -> Plot:
    """The mean score by day over the bands of the tiers, with one standard deviation to each side."""
    places = [(_x(point["day"], since, until), point) for point in points]
    dots = [
        Dot(x, _y(p["mean"]), tier_of(p["mean"]).lower(), f"{p['day']}: mean {p['mean']:.1f} of {p['runs']:,} runs")
        for x, p in places
    ]
    upper = [(x, _y(min(100.0, p["mean"] + (p["sd"] or 0)))) for x, p in places]
    lower = [(x, _y(max(0.0, p["mean"] - (p["sd"] or 0)))) for x, p in places]
    boxes = [Box(0, 100 - high, 100, high - low, name.lower()) for name, low, high in TIERS]
    label = f"Mean score by day, {since} to {until}"
    if points:
        label += f"; {points[0]['mean']:.1f} on {points[0]['day']}, {points[-1]['mean']:.1f} on {points[-1]['day']}"
    band = _path([*upper, *reversed(lower)]) + "Z" if len(places) > 1 else ""
    return Plot(_path([(d.x, d.y) for d in dots]), band, dots, boxes, "100", "0", since, until, label)


def tier_plot(points: list[JsonObject], since: str, until: str) -> Plot:
    """How many runs of a day reached each tier, stacked."""
    most = max((point["runs"] for point in points), default=1)
    width = 100 / (_ordinal(until) - _ordinal(since) + 1)
    boxes: list[Box] = []
    for point in points:
        at = 100.0
        x = (_ordinal(point["day"]) - _ordinal(since)) * width
        for name, _, _ in TIERS:
            count = point["tiers"][name]
            if count:
                height = 100 * count / most
                at -= height
                words = f"{point['day']}: {count:,} {name}"
                boxes.append(Box(_round(x + 0.1 * width), _round(at), _round(0.8 * width), _round(height), name, words))
    boxes = [Box(b.x, b.y, b.width, b.height, b.tone.lower(), b.words) for b in boxes]
    return Plot("", "", [], boxes, f"{most:,}", "0", since, until, f"Runs by day and tier, at most {most:,} a day")


def baseline_plot(points: list[JsonObject], since: str, until: str, words: Any) -> Plot:
    """The latency baseline by day; `words` says a number of seconds."""
    known = [point for point in points if point["baseline_p50_s"] is not None]
    top = max((point["baseline_p50_s"] for point in known), default=0.0) * 1.1 or 1.0
    dots = [
        Dot(
            _x(point["day"], since, until),
            _round(100 - 100 * point["baseline_p50_s"] / top),
            "plain",
            f"{point['day']}: p50 {words(point['baseline_p50_s'])}",
        )
        for point in known
    ]
    label = f"Latency baseline (p50) by day, {since} to {until}"
    return Plot(_path([(d.x, d.y) for d in dots]), "", dots, [], words(top), "0", since, until, label)


def interval_plot(drift: JsonObject, reach: float) -> JsonObject | None:
    """An interval around a difference, on an axis from -`reach` to `reach`; None where there is none."""
    if drift["interval"] is None:
        return None
    low, high = (_round(50 + 50 * bound / reach) for bound in drift["interval"])
    tone = {"up": "good", "down": "bad"}.get(drift["drifted"] or "", "plain")
    return {"low": low, "high": high, "at": _round(50 + 50 * drift["delta"] / reach), "tone": tone}


def reach_of(drifts: list[JsonObject]) -> float:
    """How far the axis of some intervals must go."""
    return max((abs(bound) for one in drifts for bound in one["interval"] or ()), default=1.0) or 1.0


def mix(tiers: dict[str, int]) -> list[Box]:
    """The shares of the tiers in one bar."""
    total = sum(tiers.values()) or 1
    boxes, at = [], 0.0
    for name, _, _ in TIERS:
        width = 100 * tiers[name] / total
        if width:
            boxes.append(Box(_round(at), 0, _round(width), 8, name.lower(), f"{tiers[name]:,} {name}"))
        at += width
    return boxes


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + " ".join(f"{x},{y}" for x, y in points) if points else ""


def _x(day: str, since: str, until: str) -> float:
    first, last = _ordinal(since), _ordinal(until)
    return 50.0 if first == last else _round(100 * (_ordinal(day) - first) / (last - first))


def _y(score: float) -> float:
    return _round(100 - score)


def _ordinal(day: str) -> int:
    return date.fromisoformat(day).toordinal()


def _round(value: float) -> float:
    return round(value, 2)
