"""Whether one result of a run is right, by what the operands allow; and the rule that a wrong one breaks."""

from __future__ import annotations

from dataclasses import replace

import torch

from pipeline.exec_kernel.promotion import common_dtype
from pipeline.numerics.compare import HEADER_LIMITED, Inputs, Verdict, compare, extreme, is_exact, subnormal
from pipeline.numerics.cpu import ReferenceRefusedError
from pipeline.numerics.failure import Run
from pipeline.numerics.reference import Expected, amid, expected
from pipeline.numerics.targets import Target

_TINY = 1e-2
"""Below this, functions of c10/metal that are known to lose digits there are not blamed on the kernel."""

_FEW = 400
"""More wrong elements than this are no accident of their places."""


def judged(target: Target, run: Run, got: torch.Tensor, answer: Expected) -> Verdict:
    """Compare one contiguous result with its answer."""
    operands = list(run.inputs.values()) if target.pointwise else []
    exact = every_bit(target, run)
    inputs, small = None, None
    if any(each.dtype.is_complex for each in operands):
        inputs = Inputs.of(operands, answer.shape)
    if run.layout.flush:
        # What is computed on the way from small or huge numbers may be flushed as well.
        small = torch.zeros(answer.shape, dtype=torch.bool)
        for operand in (*operands, answer.same[0]):
            small |= extreme(operand)
    elif not exact:
        small = subnormal(answer.same[0])
        for operand in operands:
            small |= subnormal(operand)
    return compare(got, answer, exact, inputs, small)


def reconsidered(target: Target, run: Run, got: torch.Tensor, answer: Expected, verdict: Verdict) -> Verdict:
    """The verdict without elements whose answer depends on where they stand in the CPU's loop."""
    index = verdict.wrong.reshape(-1).nonzero().reshape(-1)
    if len(index) > _FEW:
        return verdict
    more = amid(target, {**run.case.arguments, **run.inputs}, answer, index)
    operands = [torch.broadcast_to(each, got.shape).reshape(-1)[index] for each in run.inputs.values()]
    inputs = Inputs.of(operands, index.shape) if any(each.is_complex() for each in operands) else None
    still = compare(got.reshape(-1)[index], more, every_bit(target, run), inputs).wrong
    wrong = torch.zeros(got.numel(), dtype=torch.bool)
    wrong[index[still]] = True
    return replace(verdict, wrong=wrong.reshape(got.shape))


def every_bit(target: Target, run: Run) -> bool:
    """Whether a result is exact, so that every bit counts."""
    return is_exact(target.operator, any(each.dtype.is_complex for each in run.inputs.values()))


def within_helper(target: Target, run: Run, got: torch.Tensor, answer: Expected, wrong: torch.Tensor) -> torch.Tensor:
    """Those of the wrong elements that the exec helper is to blame for.

    Its cast flavours read operands of unlike dtypes in the output's dtype, not in the common one, unless that is bool.
    """
    none = torch.zeros_like(wrong)
    operands = list(run.inputs.values())
    casts = any("_cast" in each.flavour for each in run.dispatched)
    if not casts or answer.dtype is torch.bool or answer.dtype == common_dtype(operands, answer.dtype):
        return none
    narrow = {name: each.to(answer.dtype) for name, each in run.inputs.items()}
    try:
        read = expected(target, target.refreshed({**run.case.arguments, **narrow}))[0]
    except ReferenceRefusedError:
        return none
    return none if read.dtype != got.dtype else wrong & ~judged(target, run, got, read).wrong


def rule_of(target: Target, run: Run, reason: str, wrong: torch.Tensor) -> str:
    """The rule that results break which are `wrong` for this reason."""
    if run.layout.flush:
        return "numerics/flushing"
    if target.operator in HEADER_LIMITED and reason in ("relative", "value", "infinity"):
        first = torch.broadcast_to(next(iter(run.inputs.values())), wrong.shape)[wrong]
        if bool((first.abs() < _TINY).all()):
            return "numerics/imprecise"
    return f"numerics/{reason.replace(' ', '-').lower()}"
