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
            whole = (event for event in report.events if not _beside_a_start(event, each))
            yield from _as_findings(report.kernel, whole)


def found(report: Report) -> Iterator[tuple[str, str]]:
    yield from _as_findings(report.kernel, report.events)


def _as_findings(kernel: str, events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    for event in events:
        rule = RULES.get(event.note)
        if event.note is Note.INACTIVE_LANE_READ and event.site is not None and "c10/metal/" in event.site.file:
            rule = "numerics/inactive-lane"
        if rule is not None:
            yield rule, f"{kernel}, {event}"


def _beside_a_start(event: Event, dispatched: Dispatched) -> bool:
    """Whether the argument is one element bound as the start of a part or of a reversed tensor.

    Which others belong to it is known to the strides alone.
    """
    if event.note is not Note.OUTSIDE_VIEW or event.access is None:
        return False
    arguments = (dispatched.arguments[index] for index in event.access.arguments)
    return any(not isinstance(each, bytes) and each.shape == (1,) for each in arguments)
