"""The smallest input that still shows a failure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from pipeline.numerics.cases import Case
from pipeline.numerics.layouts import Layout
from pipeline.numerics.session import Failure, Run, Session

_ATTEMPTS = 40


def shrink(session: Session, failure: Failure) -> Failure:
    """A failure of the same rule on fewer elements: one dense element if that will do, else a smaller shape.

    The failure itself when nothing smaller shows it, or when it is not about values.
    """
    if failure.wrong is None or failure.expected is None:
        return failure
    arity = len(session.stub.inputs)
    for index in _simplest(failure):
        case = _single(failure.run, session, index)
        for layout in dict.fromkeys((replace(failure.run.layout, inputs=("dense",) * arity, output="dense"),)):
            found = _still_fails(session, failure, case, layout)
            if found is not None:
                return found
    return _narrowed(session, failure)


def _simplest(failure: Failure) -> list[int]:
    """Flat positions of a few wrong elements, those with the plainest operands first."""
    assert failure.wrong is not None
    positions = failure.wrong.reshape(-1).nonzero().reshape(-1)[:400]
    operands = [torch.broadcast_to(each, failure.wrong.shape).reshape(-1)[positions] for each in failure.run.inputs]
    ranked = sorted(range(len(positions)), key=lambda at: sum(_plainness(each[at].item()) for each in operands))
    return [int(positions[at]) for at in ranked[:3]]


def _plainness(value: complex | float | bool) -> float:
    """Low for 0, 1, 2.5; higher for long decimals, extremes, infinities and NaN."""
    if isinstance(value, complex):
        return _plainness(value.real) + _plainness(value.imag)
    text = repr(value)
    return len(text) + (10 if text.lstrip("-")[0].isalpha() else 0) + (0 if 1e-3 <= abs(float(value)) <= 1e3 else 5)


def _single(run: Run, session: Session, index: int) -> Case:
    """The case of one element, as 1-D tensors."""
    arguments: dict[str, Any] = dict(run.case.arguments)
    for name, tensor in zip(session.stub.inputs, run.inputs, strict=True):
        if name not in run.case.cpu_scalars:
            arguments[name] = torch.broadcast_to(tensor, run.output.shape).reshape(-1)[index : index + 1].clone()
    return replace(run.case, arguments=arguments)


def _narrowed(session: Session, failure: Failure) -> Failure:
    """Halve dimensions as long as the failure stays."""
    best, attempts = failure, 0
    progress = True
    while progress and attempts < _ATTEMPTS:
        progress = False
        for dim in range(best.run.output.dim()):
            size = best.run.output.shape[dim]
            for start, length in ((0, size // 2), (size // 2, size - size // 2), (0, size - 1)):
                if not 0 < length < size:
                    continue
                attempts += 1
                case = _narrow(best.run.case, session, dim, start, length)
                found = _still_fails(session, failure, case, best.run.layout)
                if found is not None:
                    best, progress = found, True
                    break
    return best


def _narrow(case: Case, session: Session, dim: int, start: int, length: int) -> Case:
    ndim = max(case.arguments[name].dim() for name in session.stub.inputs)
    arguments = dict(case.arguments)
    for name in session.stub.inputs:
        tensor = case.arguments[name]
        own = dim - (ndim - tensor.dim())
        if own >= 0 and tensor.shape[own] > 1:
            arguments[name] = tensor.narrow(own, start, min(length, tensor.shape[own] - start)).clone()
    return replace(case, arguments=arguments)


def _still_fails(session: Session, failure: Failure, case: Case, layout: Layout) -> Failure | None:
    probe = Session(session.stub, session.host, session.kernels, session.flushing)
    probe.attempt(case, layout)
    for found in probe.failures.values():
        if found.rule == failure.rule:
            return found
    return None
