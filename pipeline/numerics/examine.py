"""One operator, from its kernel source and stub to findings."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pipeline.exec_kernel.execute import Kernels
from pipeline.numerics import cases
from pipeline.numerics.builds import Builds
from pipeline.numerics.cases import Case
from pipeline.numerics.conventions import reducing, target_of_function, target_of_operator, targets_of_stub
from pipeline.numerics.edges import edges, mistaken
from pipeline.numerics.host import Host, HostUnknownError, StubHost, implied_host
from pipeline.numerics.job import Job
from pipeline.numerics.recording import Recorded, recorded, refused
from pipeline.numerics.report import Reported, grouped, reported
from pipeline.numerics.scalars import boundaries, scalar_sets, variations
from pipeline.numerics.session import Session
from pipeline.numerics.shrink import shrink
from pipeline.numerics.targets import Target, UnknownOperatorError
from pipeline.stub_interpreter.stub import StubText

_NUMBER = re.compile(r"(?<![\w.])((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[fh]?(?![\w.])")

_KINDS = 5
"""So many calls of one dtype, unlike in ranks and scalars, are tried with more elements."""

_FEW_DTYPES = 2
"""So many dtypes of a call are enough to see which mistakes the host code lets pass."""

_LONG, _LONGEST = 4096, 20_000
"""The number of the host code that its long sizes are made from, at least and at most."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Examined:
    """What the kernels of one operator showed.

    `launched` counts the runs of each host name, `idle` are registered names that no case reached, `errors` the error
    inputs that the host code refused itself. `unsplit` says why operands of more than 2**31 bytes were not served.
    """

    operator: str
    targets: tuple[str, ...]
    reports: tuple[Reported, ...]
    dtypes: tuple[str, ...]
    refused: dict[str, str]
    launched: dict[str, int]
    idle: tuple[str, ...]
    runs: int
    elements: int
    masked: int
    samples: int
    errors: int
    unsplit: str


def examine(job: Job, builds: Builds, headers: Sequence[str], kernel_path: str, progress: Progress) -> Examined:
    """Run every case of the operator. `headers` are texts that may define its params structs.

    Raises PipelineError when the operator or its host side is not known or not understood.
    """
    sessions = [Session(*each, builds) for each in _targets(job, builds.plain, headers)]
    samples = 0
    for session in sessions:
        if session.host.returns and not session.target.pointwise:
            samples += _try_samples(session, job, progress)
        else:
            samples += _try_everything(session, job, progress)
        if not session.host.guarded:
            for call in refused(session.target):
                session.try_refused(Case(call.arguments, call.label))
            for case in _mistaken(session, job):
                session.try_refused(case, "numerics/lenient")
    reports = [
        reported(session, shrink(session, failure), flavours, kernel_path)
        for session in sessions
        for failure, flavours in grouped([*session.failures.values(), *session.refusals.failures()])
    ]
    launched: Counter[str] = sum((session.tally.launched for session in sessions), Counter())
    tallies = [session.tally for session in sessions]
    return Examined(
        job.operator,
        tuple(dict.fromkeys(session.target.name for session in sessions)),
        tuple(reports),
        tuple(sorted(set().union(*(tally.dtypes for tally in tallies)))),
        {dtypes: why for tally in tallies for dtypes, why in tally.refused.items()},
        dict(launched),
        tuple(sorted(builds.plain.names - set(launched))),
        sum(tally.runs for tally in tallies),
        sum(tally.elements for tally in tallies),
        sum(tally.masked for tally in tallies),
        samples,
        sum(tally.errors for tally in tallies),
        next((tally.unsplit for tally in tallies if tally.unsplit), ""),
    )


def literals(source: str) -> list[float]:
    """The numbers a kernel's text compares and computes with: boundaries worth trying."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|#[^\n]*|REGISTER_[^\n]*", " ", source, flags=re.S)
    numbers = dict.fromkeys(float(each) for each in _NUMBER.findall(text))
    return [sign * number for number in numbers if number < 3e38 for sign in (1.0, -1.0)][:64]


def long_sizes(job: Job) -> tuple[int, int]:
    """Sizes beyond twice, and beyond a simdgroup times, every number of the host code.

    It may cut what is longer than that into parts, and give each thread of a simdgroup some of the parts.
    """
    numbers = [int(each) for each in re.findall(r"(?<![\w.])\d{2,5}(?![\w.])", job.stub or "")]
    largest = max(each for each in (_LONG, *numbers) if each <= _LONGEST)
    return 2 * largest + 3, 34 * largest + 7


def _targets(job: Job, kernels: Kernels, headers: Sequence[str]) -> list[tuple[Target, Host]]:
    """What the stub implements: its registrations, and the functions that dispatch rows name."""
    if job.stub is None:
        target = target_of_operator(job.operator)
        return [(target, implied_host(target, job.operator, sorted(kernels.names)))]
    text = StubText(job.stub, [job.kernel, *headers], job.host_path)
    found: list[tuple[Target, Host]] = []
    for stub, name in text.registered.items():
        found += [(target, StubHost(text, name)) for target in targets_of_stub(stub, job.operator)]
    for function in text.file.functions:
        if function.name in text.registered.values():
            continue
        try:
            target = target_of_function(function.name, [parameter.type for parameter in function.parameters])
        except UnknownOperatorError:
            continue
        returns = not function.implements and len(function.parameters) == len(target.overload._schema.arguments)
        host = StubHost(text, function.name, returns, function.implements)
        found += [(each, host) for each in (target, reducing(target)) if each is not None]
    if not found:
        raise HostUnknownError("the stub registers nothing, and no dispatch row names one of its functions")
    return found


def _try_everything(session: Session, job: Job, progress: Progress) -> int:
    target, dtypes = session.target, _dtypes(job)
    calls = {dtype: recorded(target, dtype) for dtype in dtypes}
    sets = scalar_sets(target, (call.arguments for dtype in dtypes for call in calls[dtype]))
    extra = [*literals(job.kernel), *boundaries(sets)]
    long = long_sizes(job)
    for dtype in dtypes:
        progress(f"{target.overload} on {dtype}")
        if target.pointwise:
            others = _own_dtypes(target, calls[dtype], dtype)
            for case in _pointwise(target, dtype, sets, extra):
                session.try_case(cases.in_dtypes(target, case, others))
        for case in _sampled(target, calls[dtype]):
            session.try_case(case)
        _try_changed(session, calls[dtype], long)
    if target.pointwise:
        for dtype in dtypes:
            if str(dtype).removeprefix("torch.") not in session.tally.dtypes:
                session.probe(cases.plain(target, dtype, sets[0]))
    if target.pointwise and len(dtypes) > 1 and len(set(target.inputs)) > 1:
        for case in cases.mixed(target, sets[0]):
            session.try_case(case)
    return sum(len(each) for each in calls.values())


def _try_samples(session: Session, job: Job, progress: Progress) -> int:
    count, long = 0, long_sizes(job)
    for dtype in _dtypes(job):
        progress(f"{session.target.name} on {dtype}")
        calls = recorded(session.target, dtype)
        for case in _sampled(session.target, calls):
            session.try_case(case)
        _try_changed(session, calls, long)
        count += len(calls)
    return count


def _try_changed(session: Session, calls: Sequence[Recorded], long: Sequence[int]) -> None:
    """For what is not pointwise: the first call of each kind with more elements than OpInfo has, or in other dtypes."""
    kinds: dict[str, Case] = {}
    for call in () if session.target.pointwise else calls:
        parts = (each.dim() if isinstance(each, torch.Tensor) else each for each in call.arguments.values())
        if len(kinds) < _KINDS:
            kinds.setdefault(repr([*parts]), Case(call.arguments, call.label))
    target = session.target
    for number, case in enumerate(kinds.values()):
        for changed in (
            *cases.enlarged(target, case, long, square=not number),
            *cases.retyped(target, case),
            *cases.from_the_last(target, case),
        ):
            session.try_case(changed)
    for case in edges(target, [*kinds.values()]):
        session.try_case(case)


def _mistaken(session: Session, job: Job) -> Iterator[Case]:
    """Wrong calls made of the first that is no scalar, in a few dtypes."""
    calls = (next(filter(_is_shaped, recorded(session.target, dtype)), None) for dtype in _dtypes(job))
    for call in itertools.islice(filter(None, calls), _FEW_DTYPES):
        yield from mistaken(session.target, Case(call.arguments, call.label))


def _is_shaped(call: Recorded) -> bool:
    tensors = [each for each in call.arguments.values() if isinstance(each, torch.Tensor)]
    return all(each.dim() and each.numel() > 1 for each in tensors)


def _dtypes(job: Job) -> tuple[torch.dtype, ...]:
    return tuple(getattr(torch, name) for name in job.dtypes) or cases.DTYPES


def _pointwise(
    target: Target, dtype: torch.dtype, sets: Sequence[dict[str, Any]], extra: Sequence[float]
) -> Iterator[Case]:
    several = len(set(target.inputs)) > 1
    for number, scalars in enumerate(sets):
        yield from cases.grids(target, dtype, scalars, extra)
        if number == 0:
            yield from cases.small(target, dtype, scalars)
            if several:
                yield from cases.broadcast(target, [dtype] * len(target.inputs), scalars)
                yield from cases.scalar_operands(target, dtype, scalars)
            if dtype.is_floating_point or dtype.is_complex:
                for changed in variations(target, scalars):
                    yield from cases.specials(target, dtype, changed)


def _own_dtypes(target: Target, calls: Sequence[Recorded], dtype: torch.dtype) -> dict[str, torch.dtype]:
    """Operands that have another dtype in all of OpInfo's calls: conditions, masks, counts."""
    found = {}
    for name in dict.fromkeys(target.inputs):
        given = [call.arguments[name] for call in calls]
        seen = {each.dtype for each in given if isinstance(each, torch.Tensor)}
        if len(seen) == 1 and dtype not in seen:
            found[name] = seen.pop()
    return found


def _sampled(target: Target, calls: Sequence[Recorded]) -> Iterator[Case]:
    """Samples as they are; for what is not pointwise, laid out in every way too."""
    for call in calls:
        shaped = any(isinstance(each, torch.Tensor) and each.dim() > 0 for each in call.arguments.values())
        small = sum(each.numel() for each in call.arguments.values() if isinstance(each, torch.Tensor)) < 2000
        yield Case(call.arguments, call.label, plain_only=target.pointwise or not (shaped and small))
