"""The dtypes a kernel is registered for, what its functor returns for each, and which ones the host code refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.exec_kernel.dtypes import Dtype, Kind

# As kernel files list them; the unsigned ones of 16 bits and more have few kernels.
_ORDER = (
    *(Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16),
    *(Dtype.INT64, Dtype.INT32, Dtype.INT16, Dtype.INT8, Dtype.UINT8, Dtype.BOOL),
    *(Dtype.COMPLEX64, Dtype.COMPLEX32),
)
# A dtype that few CPU operators have, and the wider one whose answer stands for it.
_NARROW = {Dtype.FLOAT16: Dtype.FLOAT32, Dtype.BFLOAT16: Dtype.FLOAT32, Dtype.COMPLEX32: Dtype.COMPLEX64}
_OPMATH = {Dtype.FLOAT16: Dtype.FLOAT32, Dtype.BFLOAT16: Dtype.FLOAT32, Dtype.COMPLEX32: Dtype.COMPLEX64}
_REAL = {Dtype.COMPLEX64: Dtype.FLOAT32, Dtype.COMPLEX32: Dtype.FLOAT16}

# What c10/metal/utils.h calls each set of kinds.
_CONDITIONS = {
    ("floating",): "is_scalar_floating_point_v<T>",
    ("integral",): "is_scalar_integral_v<T>",
    ("complex",): "is_complex_v<T>",
    ("floating", "integral"): "!is_complex_v<T>",
    ("floating", "complex"): "!is_scalar_integral_v<T>",
    ("integral", "complex"): "!is_scalar_floating_point_v<T>",
}
_CLASSES = ("floating", "integral", "complex")


@dataclass(frozen=True)
class Registration:
    """One dtype of the operands and the result's. `common` is the dtype that the iterator promotes to."""

    source: Dtype
    result: Dtype

    @property
    def common(self) -> Dtype:
        return self.result if self.source.is_integral and self.result.is_floating else self.source

    @property
    def opmath(self) -> Dtype:
        """What c10::metal::opmath_t and at::toOpMathType make of the common dtype."""
        return _OPMATH.get(self.common, self.common)

    @property
    def kind(self) -> str:
        return "floating" if self.source.is_floating else "complex" if self.source.is_complex else "integral"


@dataclass(frozen=True)
class Overload:
    """One call operator of the functor: for which operands, `T` under a condition or one type, and what it returns."""

    returns: str
    operand: str = "T"
    condition: str = ""

    @property
    def zero(self) -> str:
        return "false" if self.returns == "bool" else f"{self.returns}(0)"


def registrations(results: Mapping[Dtype, Dtype]) -> tuple[Registration, ...]:
    """For the dtypes that the CPU answers, and the narrow ones whose wider dtype it answers.

    MPS has half, bfloat16 and complex32 kernels where the CPU does not.
    """
    full = dict(results)
    for narrow, wide in _NARROW.items():
        if narrow not in full and wide in full:
            full[narrow] = _narrowed(full[wide], narrow)
    return tuple(Registration(dtype, full[dtype]) for dtype in _ORDER if dtype in full)


def _narrowed(result: Dtype, narrow: Dtype) -> Dtype:
    if result is _NARROW[narrow]:
        return narrow
    return Dtype.FLOAT16 if narrow is Dtype.COMPLEX32 and result is Dtype.FLOAT32 else result


def overloads(registered: Sequence[Registration]) -> tuple[Overload, ...]:
    """One call operator for each way in which the result's dtype follows from the operands'."""
    by_return: dict[str, list[str]] = {}
    for kind in _CLASSES:
        of_kind = [each for each in registered if each.kind == kind]
        if of_kind:
            by_return.setdefault(_returned(of_kind), []).append(kind)
    real = by_return.pop("", [])
    found = [
        Overload(returned, condition="" if len(by_return) == 1 and not real else _CONDITIONS[tuple(kinds)])
        for returned, kinds in by_return.items()
    ]
    if real:
        found += [Overload(each.result.metal, each.source.metal) for each in registered if each.kind == "complex"]
    return tuple(found)


def _returned(of_kind: Sequence[Registration]) -> str:
    """The type in Metal that the dtypes of one kind lead to; empty where complex ones lead to their parts'."""
    if all(each.result is each.source for each in of_kind):
        return "T"
    if all(each.result is _REAL.get(each.source) for each in of_kind):
        return ""
    results = {each.result for each in of_kind}
    return results.pop().metal if len(results) == 1 else "T"


def served(registered: Sequence[Registration], dtype: str) -> str:
    """The condition in C++ that holds for what is registered, `dtype` being the common one; empty if that is all."""
    kinds = {each.common.kind for each in registered}
    integers = bool(kinds & {Kind.SIGNED, Kind.UNSIGNED})
    with_bool = f"/*includeBool=*/{'true' if Kind.BOOL in kinds else 'false'}"
    if kinds == {Kind.FLOATING}:
        return f"isFloatingType({dtype})"
    if kinds == {Kind.COMPLEX}:
        return f"isComplexType({dtype})"
    if kinds and kinds.isdisjoint({Kind.FLOATING, Kind.COMPLEX}):
        return f"isIntegralType({dtype}, {with_bool})" if integers else f"{dtype} == kBool"
    refused = [] if Kind.FLOATING in kinds else [f"!isFloatingType({dtype})"]
    if not integers:
        refused.append(f"!isIntegralType({dtype}, /*includeBool=*/{'false' if Kind.BOOL in kinds else 'true'})")
    elif Kind.BOOL not in kinds:
        refused.append(f"{dtype} != kBool")
    if Kind.COMPLEX not in kinds:
        refused.append(f"!isComplexType({dtype})")
    return " && ".join(refused)
