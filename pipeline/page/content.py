"""All that the page shows, gathered before a template sees it. The same inputs give the same content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from pipeline.history import Point
from pipeline.manifest import Manifest, Operator, State
from pipeline.page.diff import FileDiff, file_diffs
from pipeline.page.heat import HeatMap, heat_maps
from pipeline.page.timeline import Event, Version, timeline
from pipeline.record import MacRecord, Record
from pipeline.report.plot import Pair, pair_chart
from pipeline.report.status import StatusRow, status_rows, waiting


@dataclass(frozen=True)
class Inputs:
    """`history` is a label and points, None where no history was given."""

    manifest: Manifest
    records: Mapping[str, Record]
    mac_records: Mapping[str, MacRecord]
    versions: Sequence[Version] = ()
    history: tuple[str, Sequence[Point]] | None = None


@dataclass(frozen=True)
class OperatorPage:
    """`failures` are the reports of the numerical check; `benchmark` is SVG, empty where no Mac measured anything."""

    operator: Operator
    row: StatusRow
    record: Record | None
    mac: MacRecord | None
    evidence: Sequence[Mapping[str, Any]]
    heat_maps: tuple[HeatMap, ...]
    failures: Sequence[Mapping[str, Any]]
    diffs: tuple[FileDiff, ...]
    benchmark: Markup
    timeline: tuple[Event, ...]


@dataclass(frozen=True)
class Content:
    """`newest` is the time of the youngest result or status, empty where there is none; `states` keeps their order."""

    pages: tuple[OperatorPage, ...]
    states: Mapping[str, int]
    waiting: Mapping[str, int]
    files: tuple[str, ...]
    newest: str


def gather(inputs: Inputs) -> Content:
    manifest = inputs.manifest
    rows = {row.operator: row for row in status_rows(manifest, records=inputs.records)}
    pages = tuple(_page(operator, rows[operator.name], inputs) for operator in manifest.operators)
    counts = {state.value: sum(page.row.state == state.value for page in pages) for state in State}
    return Content(
        pages=pages,
        states={state: count for state, count in counts.items() if count},
        waiting=dict(waiting(manifest, inputs.records).most_common()),
        files=tuple(sorted({stem for page in pages for stem in stems(page.row)})),
        newest=max(_times(inputs), default=""),
    )


def stems(row: StatusRow) -> tuple[str, ...]:
    """`UnaryKernel` for the pair of files an operator goes into."""
    return tuple(dict.fromkeys(path.rpartition("/")[2].partition(".")[0] for path in row.files))


def _page(operator: Operator, row: StatusRow, inputs: Inputs) -> OperatorPage:
    record, mac = inputs.records.get(operator.name), inputs.mac_records.get(operator.name)
    evidence = record.evidence if record is not None else ()
    numerics: Mapping[str, Any] = next((result["data"] for result in evidence if result["check"] == "numerics"), {})
    return OperatorPage(
        operator=operator,
        row=row,
        record=record,
        mac=mac,
        evidence=evidence,
        heat_maps=heat_maps(numerics),
        failures=numerics.get("reports", ()),
        diffs=file_diffs(record.diff) if record is not None else (),
        benchmark=_benchmark(mac) if mac is not None else Markup(),
        timeline=timeline(operator, inputs.versions, record, mac),
    )


def _benchmark(mac: MacRecord) -> Markup:
    pairs = [
        Pair(
            f"{timing['dtype']}, {timing['elements']:,} elements",
            *(float(timing[key]) for key in ("old_us", "old_spread_us", "new_us", "new_spread_us")),
        )
        for timing in mac.timings
    ]
    if not pairs:
        return Markup()
    return Markup(pair_chart("Time per call, released wheel and this build", pairs, ("released", "this build"), "µs"))


def _times(inputs: Inputs) -> Iterable[str]:
    """All in UTC and one form, so that the youngest is the greatest."""
    yield from (record.at for record in inputs.records.values())
    yield from (record.at for record in inputs.mac_records.values())
    for operator in inputs.manifest.operators:
        if operator.status.at:
            at = datetime.fromisoformat(operator.status.at)
            yield (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
