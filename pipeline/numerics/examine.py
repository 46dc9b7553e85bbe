"""One operator, from its kernel source and stub to findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from pipeline.exec_kernel.execute import Kernels
from pipeline.numerics import cases
from pipeline.numerics.cases import Case
from pipeline.numerics.frontend import Stub, stub_for
from pipeline.numerics.host import Host, implied_host
from pipeline.numerics.job import Job
from pipeline.numerics.report import Reported, grouped, reported
from pipeline.numerics.session import Session
from pipeline.numerics.shrink import shrink


@dataclass(frozen=True)
class Examined:
    """What one stub's kernels showed.

    `launched` counts the runs of each host name, `idle` are registered names that no case reached.
    """

    operator: str
    reports: tuple[Reported, ...]
    dtypes: tuple[str, ...]
    refused: dict[str, str]
    launched: dict[str, int]
    idle: tuple[str, ...]
    runs: int
    elements: int
    masked: int
    notes: tuple[str, ...] = field(default_factory=tuple)


def examine(
    job: Job, kernels: Kernels, flushing: Kernels | None, kernel_path: str, progress: Callable[[str], None]
) -> Examined:
    """Run every case of the operator. Raises PipelineError when the operator or its host side is not known."""
    stub = stub_for(f"{job.operator.removeprefix('special_')}_stub")
    host: Host = implied_host(job.operator, len(stub.inputs), sorted(kernels.names))
    session = Session(stub, host, kernels, flushing)
    for case in _cases(stub, literals(job.kernel), _dtypes(job), progress):
        session.try_case(case)
    reports = [
        reported(session, shrink(session, failure), flavours, kernel_path)
        for failure, flavours in grouped(session.failures.values())
    ]
    tally = session.tally
    return Examined(
        job.operator,
        tuple(reports),
        tuple(sorted(tally.dtypes)),
        tally.refused,
        dict(tally.launched),
        tuple(sorted(kernels.names - set(tally.launched))),
        tally.runs,
        tally.elements,
        tally.masked,
    )


def literals(source: str) -> list[float]:
    """The numbers a kernel's text compares and computes with: boundaries worth trying."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|#include[^\n]*", " ", source, flags=re.S)
    found = re.findall(
        r"(?<![\w.])(\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+)[fh]?(?![\w.])", text
    )
    numbers = dict.fromkeys(float(each) for each in found)
    return [sign * number for number in numbers if number < 3e38 for sign in (1.0, -1.0)][:64]


def _dtypes(job: Job) -> tuple[torch.dtype, ...]:
    return tuple(getattr(torch, name) for name in job.dtypes) or cases.DTYPES


def _cases(
    stub: Stub, extra: Sequence[float], dtypes: Sequence[torch.dtype], progress: Callable[[str], None]
) -> Iterator[Case]:
    several = len(set(stub.inputs)) > 1
    for scalars in _scalar_sets(stub):
        for dtype in dtypes:
            progress(f"{stub.overload} on {dtype}")
            yield from cases.grids(stub, dtype, scalars, extra)
            yield from cases.small(stub, dtype, scalars)
            if several:
                yield from cases.broadcast(stub, [dtype] * len(stub.inputs), scalars)
                yield from cases.scalar_operands(stub, dtype, scalars)
        if several and len(dtypes) > 1:
            yield from cases.mixed(stub, scalars)


def _scalar_sets(stub: Stub) -> Iterator[dict[str, Any]]:
    yield {}
