"""What the right answer is, and how far from it a right kernel may be.

Torch's CPU operator is evaluated in the same dtype twice (its vectorized and its scalar loop can disagree) and, for
floating and complex operands, in float64 or complex128. Around every point it is evaluated again one rounding away:
how much the function and the CPU's own error move there is the slack a kernel gets. Nothing depends on an absolute
tolerance, so an answer that is only absolutely close to a small truth is not taken for right.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from pipeline.numerics.frontend import Stub

MPS_RTOL = {torch.float32: 1.3e-6, torch.float16: 1e-3, torch.bfloat16: 1.6e-2}
"""torch.testing's defaults, which upstream's MPS tests use."""

MPS_ATOL = 1e-5

_ROUNDINGS = 4.0
"""A kernel may err as if its operands were off by this many roundings of its working precision (float32)."""

_WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}

_SINGLE = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}

# Their results are defined by the dtype itself, so a wider evaluation says nothing.
_DTYPE_BOUND = {"nextafter", "frexp", "ldexp"}


@dataclass(frozen=True)
class Expected:
    """The acceptable answers for one call, all of the call's natural shape.

    `same` are the CPU's results in the operands' dtype (vectorized, then scalar loop), `wide` the one in double
    precision (None where that means nothing), `slack` the error in absolute terms granted to each element. `borrowed`
    tells that the CPU has no kernel for the dtype, so the answer is that of a wider one, rounded.
    """

    same: tuple[torch.Tensor, ...]
    wide: torch.Tensor | None
    slack: torch.Tensor | None
    borrowed: bool = False

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
            slack=None if self.slack is None else self.slack.reshape(-1)[index],
        )

    def reshape(self, shape: Sequence[int]) -> Expected:
        return replace(
            self,
            same=tuple(each.reshape(shape) for each in self.same),
            wide=None if self.wide is None else self.wide.reshape(shape),
            slack=None if self.slack is None else self.slack.reshape(shape),
        )


class ReferenceRefusedError(Exception):
    """The CPU operator raised, so there is nothing to compare with."""


def evaluate(stub: Stub, arguments: dict[str, Any]) -> torch.Tensor:
    """Run the CPU operator; a Python number may stand for a tensor. Raises ReferenceRefusedError."""
    schema = stub.overload._schema.arguments
    positional = [arguments[each.name] for each in schema if not each.kwarg_only]
    keywords = {each.name: arguments[each.name] for each in schema if each.kwarg_only}
    plain = all(isinstance(arguments[name], torch.Tensor) or arguments[name] is None for name in stub.inputs)
    operator: Callable[..., Any] = stub.overload if plain else stub.overload.overloadpacket
    try:
        result = operator(*positional, **keywords)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as error:
        raise ReferenceRefusedError(str(error).splitlines()[0]) from None
    assert isinstance(result, torch.Tensor)
    return result


def expected(stub: Stub, arguments: dict[str, Any]) -> Expected:
    """The acceptable answers for a call. Raises ReferenceRefusedError when the CPU operator refuses it.

    A dtype of 16 or 32 bits that the CPU lacks is answered from the next wider one.
    """
    try:
        same = evaluate(stub, arguments)
    except ReferenceRefusedError:
        if not any(getattr(arguments[name], "dtype", None) in _SINGLE for name in stub.inputs):
            raise
        return _borrowed(stub, arguments)
    scalar_loop = evaluate(stub, _map_tensors(arguments, stub.inputs, _unvectorized))
    comparable = same.dtype.is_floating_point or same.dtype.is_complex
    if not comparable or stub.overload.overloadpacket.__name__ in _DTYPE_BOUND:
        return Expected((same, scalar_loop), None, None)
    wide_arguments = _widened(stub, arguments)
    try:
        wide = evaluate(stub, wide_arguments)
    except ReferenceRefusedError:
        return Expected((same, scalar_loop), None, None)
    error = _finite((same.to(wide.dtype) - wide).abs())
    slack = torch.where(error <= torch.finfo(same.dtype).eps * wide.abs(), torch.zeros_like(error), 2 * error)
    for name in dict.fromkeys(stub.inputs):
        tensor = wide_arguments[name]
        if not isinstance(tensor, torch.Tensor) or not (tensor.is_floating_point() or tensor.is_complex()):
            continue
        for one_rounding in (1.0 - 2.0**-23, 1.0 + 2.0**-23):
            try:
                moved = evaluate(stub, {**wide_arguments, name: tensor * one_rounding})
            except ReferenceRefusedError:
                continue
            slack = slack + _ROUNDINGS / 2 * _finite((moved - wide).abs())
    return Expected((same, scalar_loop), wide, slack)


def _borrowed(stub: Stub, arguments: dict[str, Any]) -> Expected:
    def single(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(_SINGLE.get(tensor.dtype, tensor.dtype))

    narrow = next(arguments[name].dtype for name in stub.inputs if getattr(arguments[name], "dtype", None) in _SINGLE)
    answers = expected(stub, _map_tensors(arguments, stub.inputs, single))
    if answers.dtype is _SINGLE[narrow]:
        result = narrow
    elif narrow is torch.complex32 and answers.dtype is torch.float32:
        result = torch.float16
    else:
        result = answers.dtype
    return replace(answers, same=tuple(each.to(result) for each in answers.same), borrowed=True)


def _widened(stub: Stub, arguments: dict[str, Any]) -> dict[str, Any]:
    """Operands in double precision; integers too where all are, since the result is a float of them."""
    tensors = [arguments[name] for name in stub.inputs if isinstance(arguments[name], torch.Tensor)]
    integral = not any(each.is_floating_point() or each.is_complex() for each in tensors)

    def widen(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(_WIDE.get(tensor.dtype, torch.float64 if integral else tensor.dtype))

    return _map_tensors(arguments, stub.inputs, widen)


def _map_tensors(
    arguments: dict[str, Any], names: Sequence[str], change: Callable[[torch.Tensor], torch.Tensor]
) -> dict[str, Any]:
    return {
        name: change(value) if name in names and isinstance(value, torch.Tensor) else value
        for name, value in arguments.items()
    }


def _unvectorized(tensor: torch.Tensor) -> torch.Tensor:
    """The same values at a stride no vectorized loop takes."""
    if tensor.dim() == 0 or tensor.numel() == 0:
        return tensor
    spread = tensor.new_empty((*tensor.shape, 2))
    spread[..., 0] = tensor
    return spread[..., 0]


def _finite(values: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)


def survives(stub: Stub, arguments: dict[str, Any]) -> bool:
    """Whether the CPU operator returns or raises, rather than dying of SIGFPE on an integer division."""
    child = os.fork()
    if child == 0:
        try:
            evaluate(stub, arguments)
        except BaseException:
            os._exit(0)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return not os.WIFSIGNALED(status)


def rtol(dtype: torch.dtype) -> float:
    """Upstream's relative tolerance for MPS; 0 for dtypes compared exactly."""
    real = {torch.complex64: torch.float32, torch.complex32: torch.float16}.get(dtype, dtype)
    return MPS_RTOL.get(real, 0.0)


def largest(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).max if dtype.is_floating_point or dtype.is_complex else math.inf
