"""The names that the exec helpers can ask for, held against the functions in the macOS wheel of torch 2.13.

Run: python -m bench.host_names. Downloads the wheel (106 MiB) once, into .cache/wheels. For operators that are native
in 2.13, told from the registrations in its binaries, every name that `pipeline.exec_kernel.names.askable` gives for
the dtypes of the operator's OpInfo is looked up among the functions of the wheel's own shader libraries.
"""

from __future__ import annotations

import itertools
import re
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch

from pipeline.edits.expectations import Expectations, expectation_files
from pipeline.edits.opinfos import OpInfo
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.names import Helper, Request, askable
from pipeline.source_wheel import open_wheel

ROOT = Path(__file__).parent.parent
VERSION = "2.13.0"
_LIBRARY = "torch/lib/libtorch_cpu.dylib"
# A function's entry in a metallib: the tag, the length of the name with its zero byte, the name, the next tag.
_NAME = re.compile(rb"NAME(..)([\w.:]{1,300})\0TYPE", re.DOTALL)
_UNUSUAL = ("float64", "complex128", "uint16", "uint32", "uint64")


@dataclass(frozen=True)
class Native:
    """A stub of 2.13: the function it serves, the helper and name it asks with.

    `scalar` ends the name: a Metal type, "common" for that of the common dtype, or a params type with {} for it.
    """

    operator: str
    helper: Helper
    name: str
    scalar: str | None = None
    compares: bool = False
    arguments: tuple[object, ...] = ()
    opinfo: str = ""
    integers: str = ""  # the name for integral dtypes where it is another


def _plain(helper: Helper, names: str) -> Iterator[Native]:
    for word in names.split():
        operator, _, name = word.partition("=")
        yield Native(operator, helper, name or operator.removeprefix("special_"))


NATIVES = [
    *_plain(
        Helper.UNARY,
        "abs acos angle asin atan bitwise_not cos cosh digamma erf erfc erfinv exp exp2 expm1 lgamma log log10 log1p "
        "log2 neg reciprocal round rsqrt sigmoid sin sinc sinh sqrt tan tanh hardsigmoid hardswish silu gelu "
        "special_erfcx special_entr i0 special_i0e special_i1 special_i1e special_spherical_bessel_j0 "
        "special_bessel_j0=bessel_j0_forward special_bessel_j1=bessel_j1_forward special_bessel_y0=bessel_y0_forward "
        "special_bessel_y1=bessel_y1_forward special_modified_bessel_i0=modified_bessel_i0_forward "
        "special_modified_bessel_i1=modified_bessel_i1_forward special_modified_bessel_k0=modified_bessel_k0_forward "
        "special_modified_bessel_k1=modified_bessel_k1_forward "
        "special_scaled_modified_bessel_k0=scaled_modified_bessel_k0_forward "
        "special_scaled_modified_bessel_k1=scaled_modified_bessel_k1_forward",
    ),
    *_plain(
        Helper.BINARY,
        "atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift complex=make_complex copysign "
        "div=div_true fmod gcd hypot igamma igammac lcm logaddexp logaddexp2 maximum minimum mul nextafter "
        "polar remainder special_xlog1py xlogy special_zeta gelu_backward silu_backward hardsigmoid_backward "
        "hardswish_backward special_chebyshev_polynomial_t special_chebyshev_polynomial_u "
        "special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_hermite_polynomial_h "
        "special_hermite_polynomial_he special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
        "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w",
    ),
    *(Native(name, Helper.BINARY, name, compares=True) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    Native("fmax", Helper.BINARY, "fmax", integers="maximum"),
    Native("fmin", Helper.BINARY, "fmin", integers="minimum"),
    Native("clamp_min", Helper.UNARY, "clamp_min_scalar", "common", arguments=(False,)),
    Native("clamp_max", Helper.UNARY, "clamp_max_scalar", "common", arguments=(False,)),
    Native("add", Helper.BINARY, "add_alpha", "common"),
    Native("sub", Helper.BINARY, "sub_alpha", "common"),
    Native("lerp", Helper.BINARY, "lerp_alpha", "common", arguments=(0.5,)),
    Native("leaky_relu", Helper.UNARY, "leaky_relu", "common"),
    Native("leaky_relu_backward", Helper.BINARY, "leaky_relu_backward", "common", arguments=(0.1, False)),
    Native("hardshrink", Helper.UNARY, "hardshrink", "common"),
    Native("softshrink", Helper.UNARY, "softshrink", "common"),
    Native("round", Helper.UNARY, "round_decimals", "long", opinfo="rounddecimals_0"),
    Native("polygamma", Helper.UNARY, "polygamma", "int", opinfo="polygammapolygamma_n_0"),
    Native("elu", Helper.UNARY_WITH_PARAMS, "elu", "ELUParams_{}"),
    Native("elu_backward", Helper.BINARY_WITH_PARAMS, "elu_backward", "ELUBackwardParams_{}", arguments=(1, 1, 1, 0)),
    Native("clamp", Helper.TERNARY, "clamp"),
]  # fmt: skip


@dataclass
class Outcome:
    """`asked` names by operator's dtypes, those that the wheel lacks, and registered ones that nothing asks for."""

    native: Native
    dtypes: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    missing: dict[str, str] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)


def function_names(wheel: Path) -> frozenset[str]:
    """Every function in the shader libraries of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        binary = archive.read(_LIBRARY)
    found = _NAME.finditer(binary)
    return frozenset(match[2].decode() for match in found if struct.unpack("<H", match[1])[0] == len(match[2]) + 1)


def main() -> None:
    tree = open_wheel(VERSION, ROOT / ".cache" / "wheels")
    [wheel] = (ROOT / ".cache" / "wheels" / f"torch-{VERSION}").glob("*.whl")
    names = function_names(wheel)
    print(f"{wheel.name}: {len(names)} functions")
    opinfos = Expectations(expectation_files(tree)).opinfos
    outcomes = [compare(native, opinfos, names) for native in NATIVES]
    asked = set().union(*(outcome.asked for outcome in outcomes))
    missing = {name: why for outcome in outcomes for name, why in outcome.missing.items()}
    print(f"{len(outcomes)} kernels, {len(asked)} names computed, {len(asked) - len(missing)} of them in the wheel")
    for outcome in outcomes:
        lacks = f"; not there: {', '.join(sorted(outcome.missing))}" if outcome.missing else ""
        idle = f"; {len(outcome.idle)} more registered" if outcome.idle else ""
        print(f"  {outcome.native.name}: {len(outcome.asked)} names, {', '.join(outcome.dtypes)}{lacks}{idle}")
    for name, why in sorted(missing.items()):
        print(f"missing {name}: {why}")


def compare(native: Native, opinfos: tuple[OpInfo, ...], names: frozenset[str]) -> Outcome:
    outcome = Outcome(native)
    dtypes = supported(native, opinfos)
    combinations = [(dtype,) * native.helper.arity for dtype in dtypes]
    if native.helper.arity > 1 and native.operator not in ("complex", "polar", "nextafter"):
        pairs = itertools.permutations(dtypes, 2)
        combinations += [(first, *(second,) * (native.helper.arity - 1)) for first, second in pairs]
    for inputs in combinations:
        output = result_dtype(native, inputs)
        if output is None or not output.on_mps:
            continue
        common = common_dtype(inputs, output, native)
        kind = {"common": common.metal}.get(native.scalar or "", (native.scalar or "").format(common.metal)) or None
        name = native.integers if native.integers and common.is_integral else native.name
        request = Request(native.helper, name, kind, Dtype.BOOL if native.compares else None)
        for name in askable(request, inputs, output, common, names.__contains__):
            outcome.asked.add(name)
            if name not in names:
                outcome.missing.setdefault(
                    name, f"{native.operator} on {', '.join(each.torch_name for each in inputs)}"
                )
        if len(set(inputs)) == 1:
            outcome.dtypes.append(inputs[0].torch_name)
    own = re.compile(rf"{native.name}_(?:dense|strided)\w*")
    outcome.idle = {name for name in names if own.fullmatch(name)} - outcome.asked
    return outcome


def supported(native: Native, opinfos: tuple[OpInfo, ...]) -> list[Dtype]:
    """What the OpInfo claims for MPS: dtypesIfMPS where it is given, else dtypes."""
    wanted = native.opinfo or native.operator
    found = next((each for each in opinfos if wanted in (each.key.replace(".", "_"), each.key)), None)
    found = found or next((each for each in opinfos if each.concerns(wanted) and not each.ref_of), None)
    if found is None:
        raise SystemExit(f"no OpInfo of {native.operator}")
    claimed = found.mps_dtypes if found.mps_dtypes is not None else found.dtypes
    known = [name for name in claimed or () if name in {each.torch_name for each in Dtype} and name not in _UNUSUAL]
    return [Dtype.of_torch(name) for name in known]


def result_dtype(native: Native, inputs: tuple[Dtype, ...]) -> Dtype | None:
    """What torch gives for operands of these dtypes; None where it refuses them."""
    tensors = [torch.ones(1, dtype=getattr(torch, dtype.torch_name)) for dtype in inputs]
    packet = getattr(torch.ops.aten, native.operator)
    extra = {"decimals": 1} if native.name == "round_decimals" else {}
    try:
        if native.name == "polygamma":
            result = packet(1, *tensors)
        elif native.name == "elu_backward":
            result = packet(tensors[0], *native.arguments, tensors[1])
        else:
            result = packet(*tensors, *native.arguments, **extra)
    except (RuntimeError, NotImplementedError):
        return None
    return Dtype.of_torch(str(result.dtype))


def common_dtype(inputs: tuple[Dtype, ...], output: Dtype, native: Native) -> Dtype:
    common = getattr(torch, inputs[0].torch_name)
    for dtype in inputs[1:]:
        common = torch.promote_types(common, getattr(torch, dtype.torch_name))
    promoted = Dtype.of_torch(str(common))
    return output if promoted.is_integral and (output.is_floating or output.is_complex) else promoted


if __name__ == "__main__":
    main()
