"""Charts as SVG: lines over time, and pairs of measurements with their spread.

They are drawn with classes, so that a page's style colours them. Every point carries its numbers as a title, and a
chart names itself for a screen reader; what it shows must also stand on the page as a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

_WIDTH, _HEIGHT = 760, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 148, 16, 36
_FEW = 20

STANDALONE_STYLE = """
.chart { font: 12px system-ui, sans-serif; fill: #1d2129; background: #fff }
.chart .grid { stroke: #dfe2e8 } .chart .axis { stroke: #8a909c }
.chart path { fill: none; stroke-width: 2 } .chart text { fill: currentColor; stroke: none }
.chart .series-0 { stroke: #9a4a00; color: #9a4a00 } .chart .series-1 { stroke: #23509e; color: #23509e }
.chart .series-2 { stroke: #1f6b3a; color: #1f6b3a } .chart .mark { fill: currentColor; stroke: none }
.chart .tick { fill: #4d5461 }
@media (prefers-color-scheme: dark) {
  .chart { fill: #e6e8ec; background: #15181d }
  .chart .grid { stroke: #2c313a } .chart .axis { stroke: #747b88 } .chart .tick { fill: #aab0bb }
  .chart .series-0 { stroke: #f0a35e; color: #f0a35e } .chart .series-1 { stroke: #86b0f7; color: #86b0f7 }
  .chart .series-2 { stroke: #79c796; color: #79c796 }
}
"""


@dataclass(frozen=True)
class Series:
    """A line of (x, y, what the point is); with `steps` a value holds until the next point."""

    name: str
    points: Sequence[tuple[float, float, str]]
    steps: bool = False


def line_chart(title: str, series: Sequence[Series], ticks: Sequence[tuple[float, str]], *, style: str = "") -> str:
    """`ticks` are the labels of the x axis; the y axis starts at 0. Lines are named at their right ends."""
    chart = _chart(title, _WIDTH, _HEIGHT, style)
    shown = [line for line in series if line.points]
    xs = [x for line in shown for x, _, _ in line.points] or [0.0]
    low, high = min(xs), max(xs)
    steps = _round_steps(max((y for line in shown for _, y, _ in line.points), default=1.0))
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - low) / (high - low) if high > low else 0.5
        return _LEFT + across * (right - _LEFT), bottom - y / steps[-1] * (bottom - _TOP)

    for value in steps:
        _, y = place(low, value)
        _line(chart, "grid" if value else "axis", _LEFT, y, right, y)
        _text(chart, _LEFT - 8, y + 4, f"{value:g}", "tick", "end")
    for x, label in ticks:
        at, _ = place(x, 0)
        _line(chart, "axis", at, bottom, at, bottom + 4)
        _text(chart, at, bottom + 20, label, "tick", "middle")
    ends = [place(*line.points[-1][:2]) for line in shown]
    names = _apart([y for _, y in ends], 16)
    for number, (line, (x, _), name_y) in enumerate(zip(shown, ends, names, strict=True)):
        group = SubElement(chart, "g", {"class": f"series-{number}"})
        SubElement(group, "path", {"d": _path([place(x, y) for x, y, _ in line.points], line.steps)})
        radius = "3" if len(line.points) <= _FEW else "1.5"
        for x_value, y_value, about in line.points:
            at_x, at_y = place(x_value, y_value)
            mark = SubElement(group, "circle", {"class": "mark", "cx": _n(at_x), "cy": _n(at_y), "r": radius})
            SubElement(mark, "title").text = f"{about}: {y_value:g} {line.name}"
        _text(group, x + 10, name_y + 4, line.name, "name", "start")
    return tostring(chart, encoding="unicode")


@dataclass(frozen=True)
class Pair:
    """Two measurements of one thing, each with its spread."""

    name: str
    old: float
    old_spread: float
    new: float
    new_spread: float


def pair_chart(title: str, pairs: Sequence[Pair], names: tuple[str, str], unit: str, *, style: str = "") -> str:
    """Old and new as two marks on one logarithmic axis, the spread as a whisker, and at the right what they come to."""
    left, row, top = 190, 34, 28
    height = top + row * len(pairs) + _BOTTOM
    chart = _chart(title, _WIDTH, height, style)
    values = [value for pair in pairs for value in (pair.old, pair.new) if value > 0] or [1.0]
    low = 10 ** math.floor(math.log10(min(values)))
    high = max(10 ** math.ceil(math.log10(max(values))), low * 10)

    def place(value: float) -> float:
        across = math.log10(max(value, low) / low) / math.log10(high / low)
        return left + across * (_WIDTH - left - _RIGHT)

    for power in range(round(math.log10(high / low)) + 1):
        x = place(low * 10**power)
        _line(chart, "grid", x, top - 4, x, height - _BOTTOM)
        _text(chart, x, height - _BOTTOM + 18, f"{low * 10**power:g} {unit}", "tick", "middle")
    for number, name in enumerate(names):
        legend = SubElement(chart, "g", {"class": f"series-{number}"})
        _mark(legend, left + 5 + number * 110, 9)
        _text(legend, left + 16 + number * 110, 13, name, "name", "start")
    for index, pair in enumerate(pairs):
        middle = top + index * row + row / 2
        _text(chart, left - 10, middle + 4, pair.name, "tick", "end")
        _text(chart, _WIDTH - _RIGHT + 16, middle + 4, _verdict(pair), "tick", "start")
        _line(chart, "grid", left, middle, place(high), middle)
        for number, (value, spread) in enumerate(((pair.old, pair.old_spread), (pair.new, pair.new_spread))):
            group = SubElement(chart, "g", {"class": f"series-{number}"})
            _line(group, "whisker", place(value - spread), middle, place(value + spread), middle)
            mark = _mark(group, place(value), middle)
            SubElement(mark, "title").text = f"{pair.name}, {names[number]}: {value:g} ± {spread:g} {unit}"
    return tostring(chart, encoding="unicode")


def _verdict(pair: Pair) -> str:
    """In words, and only where the spreads do not touch."""
    if min(pair.old, pair.new) <= 0 or abs(pair.old - pair.new) <= pair.old_spread + pair.new_spread:
        return "no difference"
    ratio = max(pair.old, pair.new) / min(pair.old, pair.new)
    return f"{ratio:.1f} times {'faster' if pair.new < pair.old else 'slower'}"


def _chart(title: str, width: float, height: float, style: str) -> Element:
    about = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}", "class": "chart", "role": "img"}
    chart = Element("svg", about)
    SubElement(chart, "title").text = title
    if style:
        SubElement(chart, "style").text = style
    return chart


def _round_steps(highest: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, from 0 to the first that is not below `highest`; about five."""
    rough = max(highest, 1.0) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [step * count for count in range(math.ceil(max(highest, 1.0) / step) + 1)]


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """The same heights, moved down where two would be closer than `least`."""
    placed = list(heights)
    above = -math.inf
    for index in sorted(range(len(heights)), key=lambda at: (heights[at], at)):
        placed[index] = above = max(heights[index], above + least)
    return placed


def _path(points: Sequence[tuple[float, float]], steps: bool) -> str:
    parts = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for x, y in points[1:]:
        parts.append(f"H{_n(x)}V{_n(y)}" if steps else f"L{_n(x)} {_n(y)}")
    return "".join(parts)


def _line(parent: Element, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
    SubElement(parent, "line", {"class": kind, "x1": _n(x1), "y1": _n(y1), "x2": _n(x2), "y2": _n(y2)})


def _mark(parent: Element, x: float, y: float) -> Element:
    return SubElement(parent, "circle", {"class": "mark", "cx": _n(x), "cy": _n(y), "r": "5"})


def _text(parent: Element, x: float, y: float, text: str, kind: str, anchor: str) -> None:
    SubElement(parent, "text", {"class": kind, "x": _n(x), "y": _n(y), "text-anchor": anchor}).text = text


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
