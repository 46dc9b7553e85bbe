"""What benchmarks write: the machine they ran on, a plot, and their section of a page."""

from __future__ import annotations

import datetime
import math
import os
import platform
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import metadata
from pathlib import Path

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _LEGEND = 760, 380, 70, 50, 230
_COLOURS = ("#0b6e4f", "#c8553d", "#3d5a80", "#8d6a9f", "#b08900", "#4a4e69", "#6c757d")


Place = Callable[[float, float], tuple[float, float]]
Range = tuple[float, float]


@dataclass(frozen=True)
class Series:
    name: str
    points: Sequence[tuple[float, float]]


def machine() -> str:
    """One sentence on where and with what the numbers were made."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text())
        model = found.group(1) if found else model
    return (
        f"Measured on {datetime.date.today():%Y-%m-%d}: {os.cpu_count()} cores ({model}), {platform.system()}, "
        f"Python {platform.python_version()}, torch {metadata.version('torch')}, git {git}."
    )


def plot(series: Sequence[Series], x_label: str, y_label: str) -> str:
    """An SVG with logarithmic axes and a legend; readable in light and dark pages."""
    xs = [x for line in series for x, _ in line.points]
    ys = [y for line in series for _, y in line.points]
    x_low, x_high, y_low, y_high = min(xs) / 1.3, max(xs) * 1.3, min(ys) / 1.6, max(ys) * 1.6

    def place(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / x_low) / math.log(x_high / x_low)
        up = math.log(y / y_low) / math.log(y_high / y_low)
        return _LEFT + across * (_WIDTH - _LEFT - _LEGEND), 20 + (1 - up) * (_HEIGHT - 20 - _BOTTOM)

    parts = [_axes(place, (x_low, x_high), (y_low, y_high), sorted(set(xs)), (x_label, y_label))]
    for number, line in enumerate(series):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line.points))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y in (place(*point) for point in line.points):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
        at = 30 + 22 * number
        parts.append(f'<rect x="{_WIDTH - _LEGEND + 20}" y="{at - 9}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{_WIDTH - _LEGEND + 40}" y="{at + 2}">{escape(line.name)}</text>')
    title = escape(f"{y_label} by {x_label}, logarithmic")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#777"><title>{title}</title>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _axes(place: Place, xs: Range, ys: Range, ticks: Sequence[float], labels: tuple[str, str]) -> str:
    left, bottom = place(xs[0], ys[0])
    right, top = place(xs[1], ys[1])
    parts = [f'<path d="M{left:.0f},{top:.0f}V{bottom:.0f}H{right:.0f}" fill="none" stroke="#999"/>']
    for tick in ticks:
        x, _ = place(tick, ys[0])
        parts.append(f'<text x="{x:.0f}" y="{bottom + 18:.0f}" text-anchor="middle">{tick:g}</text>')
    power = math.ceil(math.log10(ys[0]))
    while 10**power <= ys[1]:
        _, y = place(xs[0], 10**power)
        parts.append(f'<path d="M{left:.0f},{y:.0f}H{right:.0f}" stroke="#9995" fill="none"/>')
        parts.append(f'<text x="{left - 8:.0f}" y="{y + 4:.0f}" text-anchor="end">{10**power:g}</text>')
        power += 1
    middle = (left + right) / 2
    parts.append(f'<text x="{middle:.0f}" y="{bottom + 38:.0f}" text-anchor="middle">{escape(labels[0])}</text>')
    parts.append(f'<text x="{left:.0f}" y="{top - 6:.0f}">{escape(labels[1])}</text>')
    return "\n".join(parts)


def replace_section(page: Path, name: str, text: str) -> None:
    """Put text between the page's markers of that name."""
    begin, end = f"<!-- {name}: measured -->", f"<!-- {name}: end -->"
    old = page.read_text()
    if begin not in old or end not in old:
        raise SystemExit(f"{page} has no markers {begin} and {end}")
    head, rest = old.split(begin, 1)
    page.write_text(f"{head}{begin}\n\n{text}\n\n{end}{rest.split(end, 1)[1]}")
