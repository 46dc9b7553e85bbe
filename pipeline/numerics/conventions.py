"""How ATen calls each dispatch stub, where that differs from the schema's order; and which functions MPS rows name.

Read from ATen/native/{Activation,BinaryOps,GatedLinearUnit,Lerp,LinearAlgebra,Loss,PointwiseOps,TensorCompare,
TensorTransformations,UnaryOps}.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from pathlib import Path
from typing import Any

import torch
import torchgen
from torch._ops import OpOverload

from pipeline.numerics.targets import (
    Arguments,
    Operands,
    Target,
    UnknownOperatorError,
    functional,
    in_order,
    is_in_place,
    overload_named,
    tensor_names,
    tensor_overload,
)


def targets_of_stub(stub: str, operator: str = "") -> tuple[Target, ...]:
    """Every operator that reaches this dispatch stub; only `operator`, where it is one of several.

    Raises UnknownOperatorError when no operator is known to call it.
    """
    known = _STUBS.get(stub)
    if known is None:
        overload = tensor_overload(stub.removesuffix("_stub").removesuffix("_kernel"))
        if overload is None:
            raise UnknownOperatorError(f"no operator is known to call {stub}")
        if torch.Tag.pointwise not in overload.tags or torch.Tag.nondeterministic_seeded in overload.tags:
            raise UnknownOperatorError(
                f"how ATen calls {stub} is not known; give a stub that defines the function of {overload}'s MPS row"
            )
        return (_target(stub, _Known(str(overload).removeprefix("aten."))),)
    targets = tuple(_target(stub, each) for each in known)
    named = tuple(each for each in targets if each.operator in (operator, f"special_{operator}"))
    return named or targets


def target_of_operator(operator: str) -> Target:
    """What a kernel file without a stub is for. Raises UnknownOperatorError."""
    stub = f"{operator.removeprefix('special_')}_stub"
    if stub not in _STUBS and not any(hasattr(torch.ops.aten, f"{prefix}{operator}") for prefix in ("", "special_")):
        raise UnknownOperatorError(f"torch has no operator {operator}")
    return targets_of_stub(stub, operator)[0]


def target_of_function(function: str, parameters: Sequence[str] = ()) -> Target:
    """The operator whose dispatch row names `function` for MPS. Raises UnknownOperatorError.

    `parameters` are the types of the function's parameters, which tell rows of one function from each other.
    """
    rows = [(row, found) for row in _rows().get(function, ()) if (found := _functional(row)) is not None]
    if not rows:
        raise UnknownOperatorError(f"no dispatch row of native_functions.yaml names {function}")
    row, overload = next((each for each in rows if _takes(each[1], parameters)), rows[0])
    named = overload_named(row)
    name = overload.overloadpacket.__name__
    pointwise = torch.Tag.pointwise in overload.tags or name in _OF_ONE_SHAPE
    fixed = {"reduction": 0} if "reduction" in {each.name for each in overload._schema.arguments} and pointwise else {}
    derived = _DERIVED.get(name, {})
    inputs = tuple(each for each in tensor_names(overload) if each not in derived)
    return Target(
        function,
        overload,
        inputs,
        in_order(()),
        takes_iterator=False,
        pointwise=pointwise,
        fixed=fixed,
        derived=derived,
        full=inputs if name in _OF_ONE_SHAPE else (),
        results=_RESULTS.get(name),
        in_place=named is not None and is_in_place(named),
    )


def _takes(overload: OpOverload, parameters: Sequence[str]) -> bool:
    """Whether tensors stand where the parameters are tensors."""
    pairs = zip(overload._schema.arguments, parameters, strict=False)
    return all(("Tensor" in str(argument.type)) == ("Tensor" in parameter) for argument, parameter in pairs)


def reducing(target: Target) -> Target | None:
    """The target where its function also takes the mean or the sum of what is pointwise; None where it never does."""
    return replace(target, pointwise=False, fixed={}, full=()) if "reduction" in target.fixed else None


def _functional(row: str) -> OpOverload | None:
    """The overload of a row, or the one that returns what the row's writes."""
    named = overload_named(row)
    return tensor_overload(row.partition(".")[0]) if named is None else functional(named)


@cache
def _rows() -> dict[str, tuple[str, ...]]:
    """Function -> the entries of native_functions.yaml that dispatch MPS to it."""
    found: dict[str, tuple[str, ...]] = {}
    entry = ""
    path = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
    for line in path.read_text().splitlines():
        start = re.match(r"- func: ([\w.]+)\(", line)
        if start:
            entry = start[1]
        row = re.match(r"\s+[\w, ]*\bMPS\b[\w, ]*: (\w+)", line)
        if row:
            found[row[1]] = (*found.get(row[1], ()), entry)
    return found


@dataclass(frozen=True)
class _Known:
    overload: str
    inputs: tuple[str, ...] = ()
    scalars: Callable[[Arguments], tuple[object, ...]] | None = None
    fixed: Arguments = field(default_factory=dict)
    only: Callable[[torch.dtype], bool] | None = None
    operands: Callable[[Sequence[torch.Tensor], Arguments], Operands] | None = None
    pointwise: bool = True
    takes_iterator: bool = True
    flips: bool = False
    full: tuple[str, ...] = ()
    given: tuple[str, ...] = ()


def _target(stub: str, known: _Known) -> Target:
    overload = overload_named(known.overload)
    if overload is None:
        raise UnknownOperatorError(f"this torch has no aten::{known.overload}, which calls {stub}")
    inputs = known.inputs or tensor_names(overload)
    others = [
        argument.name
        for argument in overload._schema.arguments
        if argument.name not in known.fixed and str(argument.type) not in ("Tensor", "Optional[Tensor]")
    ]
    target = Target(
        stub,
        overload,
        inputs,
        known.scalars or in_order(others),
        known.takes_iterator,
        known.pointwise,
        known.fixed,
        operands=known.operands,
        flips=known.flips,
        full=known.full,
        given=known.given,
    )
    if known.only is None:
        return target
    return Target(**{**vars(target), "only": known.only})


def _no_scalars(arguments: Arguments) -> tuple[object, ...]:
    return ()


def _is_floating(dtype: torch.dtype) -> bool:
    """For integers the answer is a copy or a constant, made before the stub."""
    return dtype.is_floating_point


def _is_complex(dtype: torch.dtype) -> bool:
    return dtype.is_complex


def _eps_or_minus_one(arguments: Arguments) -> tuple[object, ...]:
    return (-1.0 if arguments["eps"] is None else arguments["eps"],)


def _minus_alpha(arguments: Arguments) -> tuple[object, ...]:
    return (-arguments["alpha"],)


def _loss_backward(name: str, *scalars: str, factor: float = 1.0) -> _Known:
    """The iterator is (input, target, grad_output); `mean` divides by the number of elements."""

    def arguments(call: Arguments) -> tuple[object, ...]:
        count = call["self"].numel()
        return (factor / count if call["reduction"] == 1 and count else factor, *(call[scalar] for scalar in scalars))

    return _Known(f"{name}.default", ("self", "target", "grad_output"), arguments, full=("self",))


def _clamped(outputs: Sequence[torch.Tensor], arguments: Arguments) -> Operands:
    """Operands that are no floats take the dtype of bound and operand together before the iterator."""
    operand = arguments["self"]
    bounds = [arguments[name] for name in ("min", "max") if arguments.get(name) is not None]
    if operand.is_floating_point():
        return outputs, [operand]
    return outputs, [operand.to(reduce(torch.promote_types, (torch.result_type(operand, bound) for bound in bounds)))]


def _where(outputs: Sequence[torch.Tensor], arguments: Arguments) -> Operands:
    """Both branches take the result's dtype before the iterator, a uint8 condition becomes bool."""
    branches = [torch.as_tensor(arguments[name]).to(outputs[0].dtype) for name in ("self", "other")]
    return outputs, [arguments["condition"].to(torch.bool), *branches]


def _addr(outputs: Sequence[torch.Tensor], arguments: Arguments) -> Operands:
    column = arguments["vec1"].reshape(-1, 1)
    return outputs, [arguments["self"].expand(outputs[0].shape), column, arguments["vec2"]]


def _glu(outputs: Sequence[torch.Tensor], arguments: Arguments) -> Operands:
    return outputs, torch.chunk(arguments["self"], 2, arguments["dim"])


def _flip(outputs: Sequence[torch.Tensor], arguments: Arguments) -> Operands:
    """A second input with stride 0 along the flipped dimensions keeps them from being merged."""
    operand = arguments["self"]
    flipped = {dim % operand.dim() for dim in arguments["dims"]}
    strides = [0 if dim in flipped else stride for dim, stride in enumerate(operand.stride())]
    return outputs, [operand, operand.as_strided(operand.shape, strides)]


def _log_sigmoid_buffer(arguments: Arguments) -> torch.Tensor:
    buffer = torch.ops.aten.log_sigmoid_forward(arguments["self"])[1]
    assert isinstance(buffer, torch.Tensor)
    return buffer


def _weight_norms(arguments: Arguments) -> torch.Tensor:
    norms = torch.ops.aten._weight_norm_interface(arguments["saved_v"], arguments["saved_g"], arguments["dim"])[1]
    assert isinstance(norms, torch.Tensor)
    return norms


_NO_REDUCTION = {"reduction": 0}

# Pointwise, though not tagged so; they do not broadcast.
_OF_ONE_SHAPE = frozenset(
    {"binary_cross_entropy", "binary_cross_entropy_backward", "log_sigmoid_forward", "log_sigmoid_backward"}
)

_DERIVED: Mapping[str, Mapping[str, Callable[[Arguments], Any]]] = {
    "log_sigmoid_backward": {"buffer": _log_sigmoid_buffer},
    "_weight_norm_interface_backward": {"saved_norms": _weight_norms},
}

# What the MPS function leaves empty: the buffer is the CPU's alone.
_RESULTS = {"log_sigmoid_forward": 1}

_STUBS: dict[str, tuple[_Known, ...]] = {
    "isposinf_stub": (_Known("isposinf.default", only=_is_floating),),
    "isneginf_stub": (_Known("isneginf.default", only=_is_floating),),
    "ceil_stub": (_Known("ceil.default", only=_is_floating),),
    "floor_stub": (_Known("floor.default", only=_is_floating),),
    "trunc_stub": (_Known("trunc.default", only=_is_floating),),
    "round_stub": (_Known("round.default", only=_is_floating),),
    "round_decimals_stub": (_Known("round.decimals", only=_is_floating),),
    "nan_to_num_stub": (_Known("nan_to_num.default", only=lambda dtype: dtype.is_floating_point or dtype.is_complex),),
    "sgn_stub": (_Known("sgn.default", only=_is_complex),),
    "add_stub": (_Known("add.Tensor"), _Known("sub.Tensor", scalars=_minus_alpha)),
    "sub_stub": (_Known("sub.Tensor"),),
    "div_true_stub": (_Known("div.Tensor", scalars=_no_scalars),),
    "div_floor_stub": (_Known("div.Tensor_mode", fixed={"rounding_mode": "floor"}),),
    "div_trunc_stub": (_Known("div.Tensor_mode", fixed={"rounding_mode": "trunc"}),),
    "lshift_stub": (_Known("bitwise_left_shift.Tensor"),),
    "rshift_stub": (_Known("bitwise_right_shift.Tensor"),),
    "bitwise_and_stub": (_Known("bitwise_and.Tensor"),),
    "bitwise_or_stub": (_Known("bitwise_or.Tensor"),),
    "bitwise_xor_stub": (_Known("bitwise_xor.Tensor"),),
    "pow_tensor_tensor_stub": (_Known("pow.Tensor_Tensor"),),
    "pow_tensor_scalar_stub": (_Known("pow.Tensor_Scalar"),),
    "logit_stub": (_Known("logit.default", scalars=_eps_or_minus_one),),
    "logit_backward_stub": (_Known("logit_backward.default", scalars=_eps_or_minus_one),),
    "threshold_stub": (
        _Known("threshold.default", ("self", "self")),
        _Known("threshold_backward.default", ("self", "grad_output"), lambda call: (call["threshold"], 0)),
    ),
    "shrink_backward_stub": (_Known("hardshrink_backward.default"), _Known("softshrink_backward.default")),
    "where_kernel": (_Known("where.self", operands=_where, scalars=_no_scalars),),
    "lerp_kernel_scalar_weight": (_Known("lerp.Scalar"),),
    "lerp_kernel_tensor_weight": (_Known("lerp.Tensor"),),
    "GeluKernel": (_Known("gelu.default"),),
    "GeluBackwardKernel": (_Known("gelu_backward.default"),),
    "clamp_stub": (_Known("clamp.Tensor", ("self", "min", "max"), _no_scalars),),
    "clamp_scalar_stub": (_Known("clamp.default", operands=_clamped, given=("min", "max")),),
    "clamp_min_scalar_stub": (_Known("clamp_min.default", operands=_clamped),),
    "clamp_max_scalar_stub": (_Known("clamp_max.default", operands=_clamped),),
    "leaky_relu_backward_stub": (
        _Known("leaky_relu_backward.default", ("self", "grad_output"), in_order(("negative_slope",))),
    ),
    **{
        f"{name}_stub": (_Known(f"{name}.default"),)
        for name in (
            *("elu_backward", "softplus_backward", "log_sigmoid_backward", "hardtanh_backward", "hardsigmoid_backward"),
            *("hardswish", "hardswish_backward", "mish_backward", "complex", "polar"),
        )
    },
    "prelu_stub": (_Known("_prelu_kernel.default"),),
    "prelu_backward_stub": (_Known("_prelu_kernel_backward.default", ("self", "weight", "grad_output")),),
    "glu_stub": (_Known("glu.default", scalars=_no_scalars, operands=_glu, pointwise=False),),
    "addr_stub": (_Known("addr.default", operands=_addr, pointwise=False),),
    "flip_stub": (_Known("flip.default", scalars=lambda call: (False,), operands=_flip, pointwise=False, flips=True),),
    "isin_default_stub": (
        _Known(
            "isin.Tensor_Tensor",
            scalars=lambda call: (call["elements"], call["test_elements"], call["invert"]),
            pointwise=False,
            takes_iterator=False,
        ),
    ),
    "mse_stub": (_Known("mse_loss.default", fixed=_NO_REDUCTION),),
    "smooth_l1_stub": (_Known("smooth_l1_loss.default", fixed=_NO_REDUCTION),),
    "huber_stub": (_Known("huber_loss.default", fixed=_NO_REDUCTION),),
    "mse_backward_stub": (_loss_backward("mse_loss_backward", factor=2.0),),
    "smooth_l1_backward_stub": (_loss_backward("smooth_l1_loss_backward", "beta"),),
    "huber_backward_stub": (_loss_backward("huber_loss_backward", "delta"),),
}
