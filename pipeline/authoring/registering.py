"""The lines at the end of a kernel file that register it for its dtypes."""

from __future__ import annotations

from pipeline.authoring.dtypes import Registration
from pipeline.authoring.shape import Pattern, Shape
from pipeline.exec_kernel.dtypes import Dtype

PARAMS_TYPES = {"floating": "float", "complex": "float2", "integral": "long"}
"""What the numbers of a params struct are for operands that compute in floats, complex numbers or integers."""


def registration_lines(shape: Shape) -> tuple[str, ...]:
    lines = [_line(shape, each) for each in shape.registered]
    if shape.pattern is Pattern.HELPER and shape.returns_bool and len(shape.inputs) == 2 and not shape.numbers:
        lines += ["", *(f"REGISTER_BINARY_CASTOUT_OP({_pair(shape, each)});" for each in shape.registered)]
    return tuple(lines)


def params_types(shape: Shape) -> tuple[str, ...]:
    """The types that a params struct is made for, in the order of the dtypes."""
    return tuple(dict.fromkeys(_params_type(each) for each in shape.registered))


def needs_cast_names(shape: Shape) -> bool:
    """exec_binary_kernel_with_params of torch 2.13 to 2.15 asks for `_cast_OUT_PARAMS`, which no macro registers."""
    return shape.pattern is Pattern.HELPER and len(shape.inputs) == 2 and len(shape.numbers) > 1 and shape.same


def _line(shape: Shape, each: Registration) -> str:
    match shape.pattern:
        case Pattern.HELPER:
            return f"{_helper_line(shape, each)};"
        case Pattern.ITERATOR:
            typed = shape.numbers and not shape.only_floats
            return f"{shape.macro}({each.source.metal}{f', {_scalar(shape, each)}' if typed else ''});"
        case Pattern.REDUCTION:
            return f"{shape.macro}({each.source.metal}, {each.result.metal}, {_sum(each).metal});"
        case _:
            result = "" if shape.same or shape.pattern is Pattern.ROWS else f", {each.result.metal}"
            return f"{shape.macro}({each.source.metal}{result});"


def _helper_line(shape: Shape, each: Registration) -> str:
    if shape.numbers:
        scalar = _scalar(shape, each)
        if needs_cast_names(shape):
            return f"{shape.macro}({each.source.metal}, {_params_name(shape, scalar)})"
        if len(shape.numbers) > 1:
            scalar = _params_name(shape, scalar)
        names = (shape.base, each.source.metal, scalar, each.result.metal)
        return f"REGISTER_{shape.arity}_ALPHA_OP({', '.join(names)})"
    opmath = len(shape.inputs) > 1 and not each.source.is_integral and each.result is each.source
    return f"REGISTER_{'OPMATH_' if opmath else ''}{shape.arity}_OP({_pair(shape, each)})"


def _pair(shape: Shape, each: Registration) -> str:
    return f"{shape.base}, {each.source.metal}, {each.result.metal}"


def _params_name(shape: Shape, type_: str) -> str:
    return shape.params if shape.only_floats else f"{shape.params}_{type_}"


def _scalar(shape: Shape, each: Registration) -> str:
    if len(shape.numbers) > 1:
        return _params_type(each)
    return "long" if shape.numbers[0].is_integer else each.opmath.metal


def _params_type(each: Registration) -> str:
    common = each.common
    return PARAMS_TYPES["floating" if common.is_floating else "complex" if common.is_complex else "integral"]


def _sum(each: Registration) -> Dtype:
    """The dtype to accumulate in."""
    if each.source.is_integral:
        return Dtype.INT64
    return Dtype.COMPLEX64 if each.source.is_complex else Dtype.FLOAT32
