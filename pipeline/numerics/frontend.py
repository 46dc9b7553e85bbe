"""From a call of an operator to what its dispatch stub is given: the iterator's operands and the scalars.

This is the part of ATen between the dispatcher and the stub that CPU, CUDA and MPS share (structured functions in
ATen/native/*.cpp). By default the tensors go into the iterator in the schema's order and the other arguments follow in
that order; `_STUBS` lists where ATen does otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._ops import OpOverload
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from pipeline.errors import PipelineError

Arguments = Mapping[str, Any]


class UnknownOperatorError(PipelineError):
    """torch has no operator of that name."""


@dataclass(frozen=True)
class Stub:
    """How ATen calls one dispatch stub.

    `overload` is the functional overload that runs the reference. `inputs` are the schema's names of the iterator's
    operands, `scalars` makes the stub's further arguments, `fixed` pins arguments that this stub implies (a rounding
    mode) or that are handled after the stub (a reduction).
    """

    name: str
    overload: OpOverload
    inputs: tuple[str, ...]
    scalars: Callable[[Arguments], tuple[object, ...]]
    fixed: Arguments = field(default_factory=dict)
    only: Callable[[torch.dtype], bool] = lambda dtype: True

    def serves(self, arguments: Arguments) -> bool:
        """Whether a call with these arguments reaches this stub."""
        first = arguments[self.inputs[0]]
        return self.only(first.dtype) if isinstance(first, torch.Tensor) else True

    def bind(self, arguments: Arguments) -> dict[str, Any]:
        """All arguments of the overload: defaults filled in, `fixed` applied."""
        bound: dict[str, Any] = {}
        for argument in self.overload._schema.arguments:
            if argument.name in arguments:
                bound[argument.name] = arguments[argument.name]
            elif argument.has_default_value():
                bound[argument.name] = argument.default_value
        return {**bound, **self.fixed}


def schema_arguments(overload: OpOverload, args: Sequence[Any], kwargs: Arguments) -> dict[str, Any]:
    """Positional and keyword arguments by the schema's names, with defaults."""
    named = {}
    for position, argument in enumerate(overload._schema.arguments):
        if position < len(args):
            named[argument.name] = args[position]
        elif argument.name in kwargs:
            named[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            named[argument.name] = argument.default_value
    return named


def stub_for(stub_name: str) -> Stub:
    """What is known of `X_stub`. Raises UnknownOperatorError when no operator is named like it."""
    special = _STUBS.get(stub_name)
    base = stub_name.removesuffix("_stub").removesuffix("_kernel") if stub_name not in _STUBS else ""
    overload = _overload(special.overload) if special else _tensor_overload(base)
    if overload is None:
        raise UnknownOperatorError(f"no operator is known to call {stub_name}")
    tensors = tuple(argument.name for argument in overload._schema.arguments if _is_tensor(argument))
    others = tuple(
        argument.name
        for argument in overload._schema.arguments
        if not _is_tensor(argument) and argument.name not in (special.fixed if special else {})
    )
    inputs = special.inputs if special and special.inputs else tensors
    scalars = special.scalars if special and special.scalars else _in_order(others)
    if special is None:
        return Stub(stub_name, overload, inputs, scalars)
    return Stub(stub_name, overload, inputs, scalars, dict(special.fixed), special.only)


def common_dtype(inputs: Sequence[Any], natural: torch.dtype) -> torch.dtype:
    """TensorIterator's common dtype: the promoted one, or the float that integers are promoted to."""
    _, result = elementwise_dtypes(*inputs, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)
    assert isinstance(result, torch.dtype)
    integral = not (result.is_floating_point or result.is_complex)
    return natural if integral and (natural.is_floating_point or natural.is_complex) else result


def _is_tensor(argument: Any) -> bool:
    return str(argument.type) in ("Tensor", "Optional[Tensor]")


def _in_order(names: tuple[str, ...]) -> Callable[[Arguments], tuple[object, ...]]:
    return lambda arguments: tuple(arguments[name] for name in names)


def _overload(name: str) -> OpOverload | None:
    packet, _, overload = name.partition(".")
    found = getattr(getattr(torch.ops.aten, packet, None), overload, None)
    return found if isinstance(found, OpOverload) else None


def _tensor_overload(base: str) -> OpOverload | None:
    """The functional overload of `base` whose operands are all tensors."""
    for packet_name in (base, f"special_{base}", f"_{base}"):
        packet = getattr(torch.ops.aten, packet_name, None)
        if packet is None:
            continue
        for name in ("Tensor", "self", "Tensor_Tensor", "default"):
            if name in packet.overloads():
                found = getattr(packet, name)
                assert isinstance(found, OpOverload)
                return found
    return None


@dataclass(frozen=True)
class _Known:
    overload: str
    inputs: tuple[str, ...] = ()
    scalars: Callable[[Arguments], tuple[object, ...]] | None = None
    fixed: Arguments = field(default_factory=dict)
    only: Callable[[torch.dtype], bool] = lambda dtype: True


def _is_floating(dtype: torch.dtype) -> bool:
    """Rounding an integer is a copy, made before the stub."""
    return dtype.is_floating_point


def _loss_backward(name: str, *scalars: str) -> _Known:
    """ATen/native/Loss.cpp: the iterator is (input, target, grad_output); mean divides by the number of elements."""

    def arguments(call: Arguments) -> tuple[object, ...]:
        norm = 1.0 / call["self"].numel() if call["reduction"] == 1 and call["self"].numel() else 1.0
        return (norm, *(call[scalar] for scalar in scalars))

    return _Known(f"{name}.default", ("self", "target", "grad_output"), arguments)


_NO_REDUCTION = {"reduction": 0}

_STUBS = {
    "ceil_stub": _Known("ceil.default", only=_is_floating),
    "floor_stub": _Known("floor.default", only=_is_floating),
    "trunc_stub": _Known("trunc.default", only=_is_floating),
    "round_stub": _Known("round.default", only=_is_floating),
    "sgn_stub": _Known("sgn.default", only=lambda dtype: dtype.is_complex),
    "div_true_stub": _Known("div.Tensor", scalars=lambda call: ()),
    "div_floor_stub": _Known("div.Tensor_mode", fixed={"rounding_mode": "floor"}),
    "div_trunc_stub": _Known("div.Tensor_mode", fixed={"rounding_mode": "trunc"}),
    "add_stub": _Known("add.Tensor"),
    "sub_stub": _Known("sub.Tensor"),
    "lshift_stub": _Known("bitwise_left_shift.Tensor"),
    "rshift_stub": _Known("bitwise_right_shift.Tensor"),
    "pow_tensor_tensor_stub": _Known("pow.Tensor_Tensor"),
    "pow_tensor_scalar_stub": _Known("pow.Tensor_Scalar"),
    "round_decimals_stub": _Known("round.decimals"),
    "logit_stub": _Known("logit.default", scalars=lambda call: (-1.0 if call["eps"] is None else call["eps"],)),
    "logit_backward_stub": _Known(
        "logit_backward.default", scalars=lambda call: (-1.0 if call["eps"] is None else call["eps"],)
    ),
    "threshold_stub": _Known("threshold.default", ("self", "self")),
    "where_kernel": _Known("where.self"),
    "lerp_kernel_scalar_weight": _Known("lerp.Scalar"),
    "lerp_kernel_tensor_weight": _Known("lerp.Tensor"),
    "GeluKernel": _Known("gelu.default"),
    "GeluBackwardKernel": _Known("gelu_backward.default"),
    "clamp_stub": _Known("clamp.Tensor"),
    "clamp_scalar_stub": _Known("clamp.default"),
    "prelu_stub": _Known("_prelu_kernel.default"),
    "prelu_backward_stub": _Known("_prelu_kernel_backward.default", ("self", "weight", "grad_output")),
    "mse_stub": _Known("mse_loss.default", fixed=_NO_REDUCTION),
    "smooth_l1_stub": _Known("smooth_l1_loss.default", fixed=_NO_REDUCTION),
    "huber_stub": _Known("huber_loss.default", fixed=_NO_REDUCTION),
    "mse_backward_stub": _loss_backward("mse_loss_backward"),
    "smooth_l1_backward_stub": _loss_backward("smooth_l1_loss_backward", "beta"),
    "huber_backward_stub": _loss_backward("huber_loss_backward", "delta"),
    "bitwise_and_stub": _Known("bitwise_and.Tensor"),
    "bitwise_or_stub": _Known("bitwise_or.Tensor"),
    "bitwise_xor_stub": _Known("bitwise_xor.Tensor"),
    "atan2_stub": _Known("atan2.default"),
    "shifted_chebyshev_polynomial_t_stub": _Known("special_shifted_chebyshev_polynomial_t.default"),
    "special_bessel_j0_stub": _Known("special_bessel_j0.default"),
}
