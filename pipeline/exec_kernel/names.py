"""The host names that each exec helper can ask a library for.

`askable` answers without running anything: given the helper, the kernel's name, the dtypes of a call and its scalar,
these are all the names some layout of the operands leads to. `launch.plan` picks one of them for a given layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from pipeline.exec_kernel.dtypes import Dtype

ILP_WIDTH = 4
"""C10_METAL_ILP_PER_THREAD_STR: the unroll width that `dense_ilp4` carries in its name."""

ILP_THRESHOLD = 1 << 18
"""Elements from which the ILP kernels are chosen by default, for floating outputs only."""


class Helper(Enum):
    """A member of MetalShaderLibrary and the number of tensors it reads."""

    UNARY = ("exec_unary_kernel", 1)
    UNARY_WITH_PARAMS = ("exec_unary_kernel_with_params", 1)
    UNARY_RAW = ("exec_unary_kernel_raw", 1)
    BINARY = ("exec_binary_kernel", 2)
    BINARY_WITH_PARAMS = ("exec_binary_kernel_with_params", 2)
    TERNARY = ("exec_ternary_kernel", 3)

    def __init__(self, function: str, arity: int) -> None:
        self.function = function
        self.arity = arity


@dataclass(frozen=True)
class Request:
    """What a stub passes to an exec helper, apart from the tensors.

    `scalar` is the type that ends the host name where the kernel takes one: a Metal type for an alpha ("float"), a
    type name for a params struct ("ELUParams_float"); None for a kernel without. `natural` is natural_output_dtype.
    """

    helper: Helper
    name: str
    scalar: str | None = None
    natural: Dtype | None = None
    ilp_threshold: int | None = None


def askable(
    request: Request,
    inputs: tuple[Dtype, ...],
    output: Dtype,
    common: Dtype,
    registered: Callable[[str], bool] | None = None,
) -> frozenset[str]:
    """Every host name that some layout of these dtypes makes the helper ask for.

    `registered` stands for `hasFunction`: exec_unary_kernel falls back to a cast-out kernel where the direct one is
    not there. Without it the direct names are given. Raises ValueError when the number of inputs does not fit.
    """
    if len(inputs) != request.helper.arity:
        raise ValueError(f"{request.helper.function} reads {request.helper.arity} tensors, not {len(inputs)}")
    flavours: Iterable[str]
    match request.helper:
        case Helper.UNARY:
            direct = {unary_name(request, flavour, output, inputs[0]) for flavour in _unary_flavours(request, output)}
            if request.scalar is not None or registered is None:
                return frozenset(direct)
            fallback = {castout_name(request, flavour, inputs[0]) for flavour in _castout_flavours(request)}
            missing = {name for name in direct if not registered(name)}
            return frozenset(direct - missing | (fallback if missing else set()))
        case Helper.UNARY_RAW:
            return frozenset(castout_name(request, flavour, inputs[0]) for flavour in ("dense_castout",))
        case Helper.UNARY_WITH_PARAMS:
            return frozenset(unary_name(request, flavour, output, inputs[0]) for flavour in ("dense", "strided"))
        case Helper.BINARY:
            if request.natural not in (None, output):
                return frozenset({binary_castout_name(request, common)})
            cast = inputs[0] is not inputs[1]
            flavours = _binary_flavours(request, output, cast)
            names = {binary_name(request, flavour, cast, output, inputs[0], common) for flavour in flavours}
            if cast:
                names |= _promoted_scalar_names(request, inputs, output, common)
            return frozenset(names)
        case Helper.BINARY_WITH_PARAMS:
            cast = inputs[0] is not inputs[1]
            return frozenset(
                binary_params_name(request, flavour, cast, output, inputs[0]) for flavour in ("dense", "strided")
            )
        case Helper.TERNARY:
            cast = inputs[0] is not inputs[1] or inputs[0] is not inputs[2]
            return frozenset(
                ternary_name(request, flavour, cast, output, inputs[0]) for flavour in ("dense", "strided")
            )


def unary_name(request: Request, flavour: str, output: Dtype, source: Dtype) -> str:
    return _joined(request.name, flavour, output.metal, source.metal, request.scalar)


def castout_name(request: Request, flavour: str, source: Dtype) -> str:
    """Cast-out kernels carry the input's dtype alone: they store through a runtime switch."""
    return _joined(request.name, flavour, source.metal)


def binary_name(request: Request, flavour: str, cast: bool, output: Dtype, source: Dtype, common: Dtype) -> str:
    """A cast kernel is named for its output, twice; only a comparison (bool output) names the common dtype."""
    if cast:
        second = common if output is Dtype.BOOL else output
        return _joined(request.name, f"{flavour}_cast", output.metal, second.metal, request.scalar)
    return _joined(request.name, flavour, output.metal, source.metal, request.scalar)


def binary_castout_name(request: Request, common: Dtype) -> str:
    assert request.natural is not None
    return _joined(request.name, "strided_castout", request.natural.metal, common.metal, request.scalar)


def binary_params_name(request: Request, flavour: str, cast: bool, output: Dtype, source: Dtype) -> str:
    """The cast form leaves out the input's dtype, which no REGISTER_* macro of 2.13 to 2.15 does."""
    if cast:
        return _joined(request.name, f"{flavour}_cast", output.metal, request.scalar)
    return _joined(request.name, flavour, output.metal, source.metal, request.scalar)


def registered_with_input(request: Request, asked: str, registered: Callable[[str], bool]) -> bool:
    """Whether REGISTER_BINARY_ALPHA_OP registered what is `asked` for: with the input's dtype in a cast kernel's name.

    `binary_params_name` tells that exec_binary_kernel_with_params leaves it out.
    """
    if request.helper is not Helper.BINARY_WITH_PARAMS or "_cast_" not in asked:
        return False
    stem = asked.removesuffix(f"_{request.scalar}")
    names = (_joined(stem, dtype.metal, request.scalar) for dtype in Dtype if dtype.on_mps)
    return any(registered(name) for name in names)


def ternary_name(request: Request, flavour: str, cast: bool, output: Dtype, source: Dtype) -> str:
    if cast:
        return _joined(request.name, f"{flavour}_cast", output.metal)
    return _joined(request.name, flavour, output.metal, source.metal)


def _joined(*parts: str | None) -> str:
    return "_".join(part for part in parts if part)


def _unary_flavours(request: Request, output: Dtype) -> tuple[str, ...]:
    if request.scalar is not None:
        return ("dense", "strided")
    ilp = output.is_floating or request.ilp_threshold is not None
    return ("dense_scalar", "strided", "dense") if ilp else ("dense_scalar", "strided")


def _castout_flavours(request: Request) -> tuple[str, ...]:
    ilp = ("dense_castout_ilp",) if request.ilp_threshold is not None else ()
    return ("dense_castout", "strided_castout", *ilp)


def _binary_flavours(request: Request, output: Dtype, cast: bool) -> tuple[str, ...]:
    flavours = [
        "dense",
        "strided",
        "dense_scalar",
        "dense_scalar_lhs",
        "dense_broadcast",
        "dense_broadcast_rhs",
    ]
    ilp = output.is_floating or request.ilp_threshold is not None
    if ilp and not cast and request.scalar is None:
        flavours.append(f"dense_ilp{ILP_WIDTH}")
    return tuple(flavours)


def _promoted_scalar_names(request: Request, inputs: tuple[Dtype, ...], output: Dtype, common: Dtype) -> set[str]:
    """An integer scalar beside a float32 tensor is cast on the host, and the kernel without a cast is used."""
    names = set()
    for flavour, tensor, scalar in (
        ("dense_scalar", inputs[0], inputs[1]),
        ("dense_scalar_lhs", inputs[1], inputs[0]),
    ):
        if promotes_scalar_on_host(tensor, scalar, common):
            names.add(binary_name(request, flavour, False, output, tensor, common))
    return names


def promotes_scalar_on_host(tensor: Dtype, scalar: Dtype, common: Dtype) -> bool:
    """Whether exec_binary_kernel casts the scalar operand itself: lossless, and no cast kernel is needed then."""
    return tensor is common and scalar.is_integral and common in (Dtype.FLOAT32, Dtype.COMPLEX64)
