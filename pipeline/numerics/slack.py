"""How far from the truth a right kernel may be, at every point of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pipeline.numerics.cpu import ReferenceRefusedError, evaluate
from pipeline.numerics.targets import Target

MPS_ATOL = 1e-5

_ROUNDINGS = 4.0
"""A kernel may err as if its operands were off by this many roundings of its working precision (float32)."""

_STEEP, _NEARER = 1e-3, (2.0**-9, 2.0**-17)
"""Results that move relatively so much may jump: then they move as far with operands that are so much nearer."""


def granted(
    target: Target, arguments: dict[str, Any], same: tuple[torch.Tensor, ...], wide: tuple[torch.Tensor, ...]
) -> list[torch.Tensor]:
    """The error granted to each element of each result, in absolute terms.

    `arguments` are those in double precision, `wide` the results that they give, and `same` the CPU's own.
    """
    slacks = [_own_error(each, truth) for each, truth in zip(same, wide, strict=True)]
    if not target.pointwise:
        slacks = [_noise(slack, truth) for slack, truth in zip(slacks, wide, strict=True)]
    for name in target.tensors(arguments):
        tensor = arguments[name]
        if not isinstance(tensor, torch.Tensor) or not (tensor.is_floating_point() or tensor.is_complex()):
            continue
        for rounding in (-(2.0**-23), 2.0**-23):
            if not target.pointwise:
                slacks = _with_terms_apart(target, arguments, name, rounding, wide, slacks)
            shifts = _shifts(target, arguments, name, rounding, wide)
            slacks = [slack + _ROUNDINGS / 2 * shift for slack, shift in zip(slacks, shifts, strict=True)]
    return slacks


def _shifts(
    target: Target, arguments: dict[str, Any], name: str, rounding: float, wide: tuple[torch.Tensor, ...]
) -> list[torch.Tensor]:
    """How far each result moves when an operand is off by a rounding; not at all where it jumps at the operand itself.

    A kernel may take a neighbour of a boundary for the boundary, but knows on which side the boundary lies.
    """
    moved = _moved(target, arguments, name, arguments[name] * (1.0 + rounding))
    if moved is None:
        return [torch.zeros_like(each.abs()) for each in wide]
    shifts = [_finite((there - truth).abs()) for there, truth in zip(moved, wide, strict=True)]
    jumps = [(shift > _STEEP * truth.abs()) & target.pointwise for shift, truth in zip(shifts, wide, strict=True)]
    for nearer in _NEARER:
        there = _moved(target, arguments, name, arguments[name] * (1.0 + rounding * nearer)) if _any(jumps) else None
        if there is None:
            return shifts
        jumps = [
            jump & ((each - beyond).abs() <= _STEEP * shift)
            for jump, each, beyond, shift in zip(jumps, there, moved, shifts, strict=True)
        ]
    return [shift.masked_fill(jump, 0.0) for shift, jump in zip(shifts, jumps, strict=True)]


def _with_terms_apart(
    target: Target,
    arguments: dict[str, Any],
    name: str,
    rounding: float,
    wide: tuple[torch.Tensor, ...],
    slacks: list[torch.Tensor],
) -> list[torch.Tensor]:
    """The slacks, and what sums lose where positive and negative terms that are off by a rounding each cancel."""
    operand = arguments[name]
    parts = torch.view_as_real(operand) if operand.is_complex() else operand
    apart = parts + parts.abs() * rounding
    moved = _moved(target, arguments, name, torch.view_as_complex(apart) if operand.is_complex() else apart)
    if moved is None:
        return slacks
    shifts = [_finite((there - truth).abs()) for there, truth in zip(moved, wide, strict=True)]
    return [slack + _ROUNDINGS / 2 * shift for slack, shift in zip(slacks, shifts, strict=True)]


def _any(masks: Sequence[torch.Tensor]) -> bool:
    return any(bool(mask.any()) for mask in masks)


def _moved(
    target: Target, arguments: dict[str, Any], name: str, operand: torch.Tensor
) -> tuple[torch.Tensor, ...] | None:
    """The answers with another operand; kept within the span of the given one where the operator refuses beyond."""
    attempts = [operand]
    if not operand.is_complex() and operand.numel():
        attempts.append(operand.clamp(arguments[name].min(), arguments[name].max()))
    for attempt in attempts:
        changed = {**arguments, name: attempt}
        try:
            # A derived operand would move back.
            return evaluate(target, changed if name in target.derived else target.refreshed(changed))
        except ReferenceRefusedError:
            continue
    return None


def _own_error(same: torch.Tensor, wide: torch.Tensor) -> torch.Tensor:
    """What the CPU's own result is off by, twice, where that is more than a rounding."""
    error = _finite((same.to(wide.dtype) - wide).abs())
    if not (same.dtype.is_floating_point or same.dtype.is_complex):
        return torch.zeros_like(error)
    return torch.where(error <= torch.finfo(same.dtype).eps * wide.abs(), torch.zeros_like(error), 2 * error)


def _noise(slack: torch.Tensor, wide: torch.Tensor) -> torch.Tensor:
    """Where sums cancel until nothing of the CPU's own result is right, upstream's absolute tolerance remains."""
    return torch.where(slack > wide.abs(), slack.clamp(min=MPS_ATOL), slack)


def _finite(values: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
