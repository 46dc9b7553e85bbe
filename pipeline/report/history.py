"""A history as a table of what changed, as data, and as a plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pipeline.errors import UsageError
from pipeline.history import Counts, Moment, Point
from pipeline.report.plan import say
from pipeline.report.plot import STANDALONE_STYLE, Series, line_chart

_TITLE = "Rows of native_functions.yaml that run on MPSGraph"


def print_history(console: Console, label: str, points: Sequence[Point]) -> None:
    """The first point, the last, and those at which a count changed; then what could not be read."""
    table = Table("date", "commit", box=None, pad_edge=False)
    for heading in ("own", "shared", "on MPSGraph", ""):
        table.add_column(heading, justify="right")
    table.add_column("what", no_wrap=True, overflow="ellipsis")
    for point, before in changes(points):
        assert point.counts is not None
        counts = point.counts
        step = "" if before is None else f"{counts.graph - before.graph:+d}"
        date, commit = point.moment.at.strftime("%Y-%m-%d"), point.moment.commit[:12]
        numbers = (str(counts.own), str(counts.shared), str(counts.graph), "" if step == "+0" else step)
        table.add_row(date, commit, *numbers, point.moment.name)
    console.print(table)
    say(console, f"{label}: {summary(points)}")
    for point in points:
        if point.problem:
            what = "could not be read" if point.counts is None else "was read in part"
            say(console, f"{point.moment.commit[:12]} {what}: {point.problem}", style="yellow")


def summary(points: Sequence[Point]) -> str:
    """One line: how many commits, and from how many rows on MPSGraph to how many."""
    known = [point for point in points if point.counts is not None]
    text = f"{len(points)} commit{'' if len(points) == 1 else 's'}"
    if len(known) < len(points):
        text += f", {len(points) - len(known)} of them could not be read"
    if not known or known[0].counts is None or known[-1].counts is None:
        return text
    first, last = known[0].counts, known[-1].counts
    most = max(point.counts.graph for point in known if point.counts is not None)
    text += f"; {first.graph} rows on MPSGraph at first, {most} at most, {last.graph} now"
    if last.unseen:
        text += f"; the functions of {last.unseen} rows stand in no host file of the tree"
    return text


def changes(points: Sequence[Point]) -> list[tuple[Point, Counts | None]]:
    """The readable points at which a count is another than before, with the counts before; the last one always."""
    found: list[tuple[Point, Counts | None]] = []
    before: Counts | None = None
    known = [point for point in points if point.counts is not None]
    for point in known:
        if point.counts != before or point is known[-1]:
            found.append((point, before))
        before = point.counts
    return found


def history_as_data(label: str, points: Sequence[Point]) -> dict[str, object]:
    return {
        "source": label,
        "points": [
            {
                "commit": point.moment.commit,
                "at": point.moment.at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "name": point.moment.name,
                "counts": None
                if point.counts is None
                else {
                    "own": point.counts.own,
                    "shared": point.counts.shared,
                    "own_graph": point.counts.own_graph,
                    "shared_graph": point.counts.shared_graph,
                    "graph": point.counts.graph,
                    "unseen": point.counts.unseen,
                },
                "problem": point.problem,
            }
            for point in points
        ],
    }


def load_history(path: Path) -> tuple[str, list[Point]]:
    """Label and points from a file of what `history_as_data` made. Raises UsageError for anything else."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return str(data["source"]), [_point(item) for item in data["points"]]
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        hint = "write it with `invoke history --source PATH --json`"
        raise UsageError("is not a history", path=str(path), hint=hint) from None


def _point(item: dict[str, Any]) -> Point:
    moment = Moment(
        commit=str(item["commit"]),
        at=datetime.strptime(item["at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC),
        name=str(item["name"]),
    )
    counts = item["counts"]
    if counts is None:
        return Point(moment, None, str(item["problem"]))
    numbers = {key: int(counts[key]) for key in ("own", "shared", "own_graph", "shared_graph", "unseen")}
    return Point(moment, Counts(**numbers), str(item["problem"]))


def history_plot(points: Sequence[Point], *, style: str = STANDALONE_STYLE) -> str:
    """SVG: rows that MPS has for itself, and rows on MPSGraph, over time; from the first commit that has any."""
    known = [(point, point.counts) for point in points if point.counts is not None]
    begin = next((at for at, (_, counts) in enumerate(known) if counts.own + counts.shared), 0)
    known = known[max(begin - 1, 0) :]
    graph = [(point.moment.at.timestamp(), counts.graph, _about(point)) for point, counts in known]
    own = [(point.moment.at.timestamp(), counts.own, _about(point)) for point, counts in known]
    series = [Series("rows of its own", _corners(own), steps=True), Series("on MPSGraph", _corners(graph), steps=True)]
    return line_chart(_TITLE, series, _years([x for x, _, _ in graph]), style=style)


def _about(point: Point) -> str:
    return f"{point.moment.at:%Y-%m-%d} {point.moment.name}"


def _corners(points: Sequence[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """The points where the value changes, and the last."""
    last = len(points) - 1
    return [point for at, point in enumerate(points) if at in (0, last) or point[1] != points[at - 1][1]]


def _years(times: Sequence[float]) -> list[tuple[float, str]]:
    """Ticks at the starts of years, quarters or months, whichever gives some but not many; else at both ends."""
    if not times:
        return []
    first, last = (datetime.fromtimestamp(time, UTC) for time in (min(times), max(times)))
    starts = [
        datetime(year, month, 1, tzinfo=UTC) for year in range(first.year, last.year + 1) for month in range(1, 13)
    ]
    inside = [start for start in starts if first <= start <= last]
    for months, form in ((12, "%Y"), (3, "%b %Y"), (1, "%b %Y")):
        chosen = [start for start in inside if (start.month - 1) % months == 0]
        if 3 <= len(chosen) <= 9:
            return [(start.timestamp(), start.strftime(form)) for start in chosen]
    ends = dict.fromkeys((first, last))
    return [(end.timestamp(), end.strftime("%Y-%m-%d")) for end in ends]
