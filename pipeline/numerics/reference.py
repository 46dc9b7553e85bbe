"""What the right answer is, and how far from it a right kernel may be.

Torch's CPU operator is evaluated in the same dtype twice (its vectorized and its scalar loop can disagree) and, for
floating and complex operands, in float64 or complex128. Around every point it is evaluated again one rounding away:
how much the function and the CPU's own error move there is the slack a kernel gets. Nothing depends on an absolute
tolerance, so an answer that is only absolutely close to a small truth is not taken for right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import torch

from pipeline.exec_kernel.promotion import common_dtype
from pipeline.numerics.cpu import ReferenceRefusedError, evaluate
from pipeline.numerics.slack import granted
from pipeline.numerics.targets import Target

MPS_RTOL = {torch.float32: 1.3e-6, torch.float16: 1e-3, torch.bfloat16: 1.6e-2}
"""torch.testing's defaults, which upstream's MPS tests use."""

_WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}

_SINGLE = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}

_AMID = 128
"""More elements than any vectorized loop leaves to the scalar one."""

# Their results are defined by the dtype itself, so a wider evaluation says nothing.
_DTYPE_BOUND = {"nextafter", "frexp", "ldexp", "nan_to_num"}


@dataclass(frozen=True)
class Expected:
    """The acceptable answers for one call, all of the call's natural shape.

    `same` are the CPU's results in the operands' dtype (vectorized, then scalar loop, then for operands of other
    dtypes as they are), `wide` the one in double precision (None where that means nothing), `grant` finds the slack
    when it is asked for. `borrowed` tells that the CPU has no kernel for the dtype, so the answer is that of a wider
    one, rounded.
    """

    same: tuple[torch.Tensor, ...]
    wide: torch.Tensor | None = None
    grant: Callable[[], torch.Tensor] | None = None
    borrowed: bool = False

    @cached_property
    def slack(self) -> torch.Tensor | None:
        """The error in absolute terms granted to each element."""
        return None if self.grant is None else self.grant()

    @property
    def dtype(self) -> torch.dtype:
        return self.same[0].dtype

    @property
    def shape(self) -> torch.Size:
        return self.same[0].shape

    def at(self, index: torch.Tensor) -> Expected:
        """The answers for the flat positions `index`."""
        return replace(
            self,
            same=tuple(each.reshape(-1)[index] for each in self.same),
            wide=None if self.wide is None else self.wide.reshape(-1)[index],
            grant=self._grant_changed(lambda slack: slack.reshape(-1)[index]),
        )

    def held_as(self, dtype: torch.dtype) -> Expected:
        """The answers in a dtype that holds less."""
        return replace(self, same=tuple(each.to(dtype) for each in self.same))

    def reshape(self, shape: Sequence[int]) -> Expected:
        return replace(
            self,
            same=tuple(each.reshape(shape) for each in self.same),
            wide=None if self.wide is None else self.wide.reshape(shape),
            grant=self._grant_changed(lambda slack: slack.reshape(shape)),
        )

    def _grant_changed(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], torch.Tensor] | None:
        grant = self.grant
        return None if grant is None else lambda: change(grant())


def expected(target: Target, arguments: dict[str, Any]) -> tuple[Expected, ...]:
    """The acceptable answers for each result of a call. Raises ReferenceRefusedError when the CPU operator refuses it.

    A dtype of 16 or 32 bits that the CPU lacks is answered from the next wider one.
    """
    names = target.tensors(arguments)
    try:
        same = evaluate(target, arguments)
    except ReferenceRefusedError as refusal:
        lacking = "not implemented for" in str(refusal)
        lacking &= target.operator not in _DTYPE_BOUND
        if not lacking or not any(getattr(arguments[name], "dtype", None) in _SINGLE for name in names):
            raise
        return _borrowed(target, arguments)
    try:
        scalar_loop = evaluate(target, _with_tensors(target, arguments, _unvectorized))
    except ReferenceRefusedError:  # it takes contiguous operands alone
        scalar_loop = same
    acceptable = tuple(zip(same, scalar_loop, *_unrounded(target, arguments, same), strict=True))
    plain = tuple(Expected(each) for each in acceptable)
    comparable = any(each.dtype.is_floating_point or each.dtype.is_complex for each in same)
    if not comparable or target.operator in _DTYPE_BOUND:
        return plain
    wide_arguments = _widened(target, arguments)
    try:
        wide = evaluate(target, wide_arguments)
    except ReferenceRefusedError:
        return plain
    slacks = cache(partial(granted, target, wide_arguments, same, wide))
    return tuple(
        Expected(each, truth, partial(_nth, slacks, index))
        for index, (each, truth) in enumerate(zip(acceptable, wide, strict=True))
    )


def _nth(slacks: Callable[[], list[torch.Tensor]], index: int) -> torch.Tensor:
    return slacks()[index]


def _unrounded(
    target: Target, arguments: dict[str, Any], same: tuple[torch.Tensor, ...]
) -> list[tuple[torch.Tensor, ...]]:
    """The answers to operands of unlike dtypes read as float, where the CPU rounds them to half or bfloat first."""
    operands = [each for name in target.tensors(arguments) if isinstance(each := arguments[name], torch.Tensor)]
    common = common_dtype(operands, same[0].dtype)
    if not target.pointwise or common not in _SINGLE or target.operator in _DTYPE_BOUND:
        return []
    if all(each.dtype in (common, torch.bool) for each in operands):
        return []

    def single(tensor: torch.Tensor) -> torch.Tensor:
        return tensor if tensor.dtype is torch.bool else tensor.to(_SINGLE[common])

    try:
        wider = evaluate(target, _with_tensors(target, arguments, single))
    except ReferenceRefusedError:
        return []
    return [tuple(each.to(narrow.dtype) for each, narrow in zip(wider, same, strict=True))]


def amid(target: Target, arguments: dict[str, Any], answers: Expected, index: torch.Tensor) -> Expected:
    """The answers at flat positions `index`, and what the CPU says where each stands amid many of its like.

    A vectorized loop hands its last few elements to the scalar one, so an element's place can decide its answer.
    """
    here = answers.at(index)

    def repeated(tensor: torch.Tensor) -> torch.Tensor:
        return torch.broadcast_to(tensor, answers.shape).reshape(-1)[index].repeat_interleave(_AMID)

    try:
        there = evaluate(target, _with_tensors(target, arguments, repeated))
    except ReferenceRefusedError:
        return here
    return replace(here, same=(*here.same, there[0][::_AMID].to(answers.dtype)))


def _borrowed(target: Target, arguments: dict[str, Any]) -> tuple[Expected, ...]:
    operands = [arguments[name] for name in target.tensors(arguments)]
    narrow = next(each.dtype for each in operands if getattr(each, "dtype", None) in _SINGLE)
    common = common_dtype(operands, narrow)

    def single(tensor: torch.Tensor) -> torch.Tensor:
        rounded = tensor if tensor.dtype is torch.bool or not common.is_floating_point else tensor.to(common)
        if tensor.is_floating_point() or tensor.is_complex():
            rounded = tensor.to(common)
        return rounded.to(_SINGLE.get(rounded.dtype, rounded.dtype))

    found = []
    for answers in expected(target, _with_tensors(target, arguments, single)):
        result = answers.dtype
        if result is _SINGLE.get(common):
            result = common
        elif common is torch.complex32 and result is torch.float32:
            result = torch.float16
        found.append(replace(answers, same=tuple(each.to(result) for each in answers.same), borrowed=True))
    return tuple(found)


def _widened(target: Target, arguments: dict[str, Any]) -> dict[str, Any]:
    """Operands in double precision; integers too where all are, since the result is a float of them."""
    tensors = [arguments[name] for name in target.tensors(arguments) if isinstance(arguments[name], torch.Tensor)]
    integral = not any(each.is_floating_point() or each.is_complex() for each in tensors)

    def widen(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(_WIDE.get(tensor.dtype, torch.float64 if integral else tensor.dtype))

    return _with_tensors(target, arguments, widen)


def _with_tensors(
    target: Target, arguments: dict[str, Any], change: Callable[[torch.Tensor], torch.Tensor]
) -> dict[str, Any]:
    names = target.tensors(arguments)
    changed = {
        name: change(value) if name in names and isinstance(value, torch.Tensor) else value
        for name, value in arguments.items()
    }
    return target.refreshed(changed)


def _unvectorized(tensor: torch.Tensor) -> torch.Tensor:
    """The same values at a stride no vectorized loop takes."""
    if tensor.dim() == 0 or tensor.numel() == 0:
        return tensor
    spread = tensor.new_empty((*tensor.shape, 2))
    spread[..., 0] = tensor
    return spread[..., 0]


def rtol(dtype: torch.dtype) -> float:
    """Upstream's relative tolerance for MPS; 0 for dtypes compared exactly."""
    real = {torch.complex64: torch.float32, torch.complex32: torch.float16}.get(dtype, dtype)
    return MPS_RTOL.get(real, 0.0)


def largest(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).max if dtype.is_floating_point or dtype.is_complex else math.inf
