"""The smallest input that still shows a failure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from pipeline.errors import PipelineError
from pipeline.numerics.cases import Case
from pipeline.numerics.failure import Failure, Run
from pipeline.numerics.layouts import Layout
from pipeline.numerics.session import Session

_ATTEMPTS = 40


def shrink(session: Session, failure: Failure) -> Failure:
    """A failure of the same rule on fewer elements: one dense element if that will do, else a smaller shape.

    The failure itself when nothing smaller shows it, or when it is not about values.
    """
    if failure.wrong is None or failure.expected is None:
        return failure
    if not session.target.pointwise:
        return _narrowed(session, failure)
    names = session.names(failure.run.case.arguments)
    dense = replace(failure.run.layout, inputs=("dense",) * len(names), output="dense")
    for index in _simplest(failure):
        found = _still_fails(session, failure, _single(failure.run, session, index), dense)
        if found is not None:
            return found
    return _narrowed(session, failure)


def _simplest(failure: Failure) -> list[int]:
    """Flat positions of a few wrong elements, those with the plainest operands first."""
    assert failure.wrong is not None
    positions = failure.wrong.reshape(-1).nonzero().reshape(-1)[:400]
    inputs = failure.run.inputs.values()
    operands = [torch.broadcast_to(each, failure.wrong.shape).reshape(-1)[positions] for each in inputs]
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
    for name, tensor in run.inputs.items():
        if name not in run.case.cpu_scalars:
            arguments[name] = torch.broadcast_to(tensor, run.outputs[0].shape).reshape(-1)[index : index + 1].clone()
    return replace(run.case, arguments=session.target.refreshed(arguments))


def _narrowed(session: Session, failure: Failure) -> Failure:
    """Halve dimensions as long as the failure stays."""
    best, attempts = failure, 0
    progress = True
    while progress and attempts < _ATTEMPTS:
        progress = False
        ndim = max((tensor.dim() for tensor in best.run.inputs.values()), default=0)
        for dim in range(ndim):
            size = max(tensor.shape[dim - ndim] for tensor in best.run.inputs.values() if tensor.dim() >= ndim - dim)
            for start, length in ((0, size // 2), (size // 2, size - size // 2), (0, size - 1)):
                if not 0 < length < size:
                    continue
                attempts += 1
                case = _narrow(best.run.case, session, dim - ndim, start, length)
                found = _still_fails(session, failure, case, best.run.layout)
                if found is not None:
                    best, progress = found, True
                    break
    return best


def _narrow(case: Case, session: Session, dim: int, start: int, length: int) -> Case:
    """Keep a part of dimension `dim`, counted from the last, of every operand that has it."""
    arguments = dict(case.arguments)
    for name in session.names(arguments):
        tensor = arguments[name]
        if tensor.dim() >= -dim and tensor.shape[dim] > start:
            arguments[name] = tensor.narrow(dim, start, min(length, tensor.shape[dim] - start)).clone()
    return replace(case, arguments=session.target.refreshed(arguments))


def _still_fails(session: Session, failure: Failure, case: Case, layout: Layout) -> Failure | None:
    probe = Session(session.target, session.host, session.builds)
    out_dtype = failure.run.outputs[0].dtype if failure.rule == "numerics/cast-out" else None
    try:
        probe.attempt(case, layout, out_dtype)
    except (PipelineError, RuntimeError):
        return None
    for found in probe.failures.values():
        if found.rule == failure.rule and found.result == failure.result:
            return found
    return None
