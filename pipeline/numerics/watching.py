"""What the runtime noticed while kernels ran, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline.exec_kernel.execute import Dispatched
from pipeline.metal.report import Event, Note, Report

RULES = {
    Note.OUT_OF_BOUNDS: "numerics/out-of-bounds",
    Note.OUTSIDE_VIEW: "numerics/out-of-bounds",
    Note.INDEX_OUT_OF_BOUNDS: "numerics/out-of-bounds",
    Note.ARGUMENT_TOO_SMALL: "numerics/out-of-bounds",
    Note.UNWRITTEN_READ: "numerics/unwritten-read",
    Note.THREADGROUP_RACE: "numerics/race",
    Note.DEVICE_RACE: "numerics/race",
    Note.BARRIER_DIVERGENCE: "numerics/divergence",
    Note.SIMD_DIVERGENCE: "numerics/divergence",
    Note.INACTIVE_LANE_READ: "numerics/divergence",
}
"""Not among them: what has no defined result in Metal but shows as a wrong value where it matters."""


def noticed(dispatched: Iterable[Dispatched]) -> Iterator[tuple[str, str]]:
    """A rule and a sentence for each event of these launches."""
    for each in dispatched:
        report = each.noticed
        if isinstance(report, Report):
            yield from found(report)


def found(report: Report) -> Iterator[tuple[str, str]]:
    for event in report.events:
        rule = RULES.get(event.note)
        if rule is not None:
            yield rule, _sentence(report.kernel, event)


def _sentence(kernel: str, event: Event) -> str:
    return f"{kernel}, {event}"
