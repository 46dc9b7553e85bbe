"""ATen, c10 and the standard library, as far as stubs use them.

Operators on tensors that a stub calls besides its own kernel (`at::sum_out`, `mul_`) run on torch's CPU operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import dtype_of, torch_dtype
from pipeline.stub_interpreter.errors import CheckFailedError, NotUnderstoodError
from pipeline.stub_interpreter.evaluate import truth
from pipeline.stub_interpreter.interpreter import Interpreter
from pipeline.stub_interpreter.iterators import IteratorConfig
from pipeline.stub_interpreter.numbers import Number
from pipeline.stub_interpreter.types import Native
from pipeline.stub_interpreter.values import (
    MISSING,
    SCALAR_TYPES,
    Array,
    Missing,
    Opaque,
    Options,
    Scalar,
    StoredScalar,
    longs,
)

_OPMATH = {Dtype.FLOAT16: Dtype.FLOAT32, Dtype.BFLOAT16: Dtype.FLOAT32, Dtype.COMPLEX32: Dtype.COMPLEX64}
_REAL = {Dtype.COMPLEX32: Dtype.FLOAT16, Dtype.COMPLEX64: Dtype.FLOAT32, Dtype.COMPLEX128: Dtype.FLOAT64}

CONSTANTS: dict[str, object] = {
    **{f"k{name}": dtype for name, dtype in SCALAR_TYPES.items()},
    **{f"ScalarType::{name}": dtype for name, dtype in SCALAR_TYPES.items()},
    "nullopt": MISSING,
    "kMPS": Opaque("device"),
    "kCPU": Opaque("device"),
    "Reduction::None": Number(0, "int"),
    "Reduction::Mean": Number(1, "int"),
    "Reduction::Sum": Number(2, "int"),
    "MemoryFormat::Contiguous": torch.contiguous_format,
    "MemoryFormat::Preserve": torch.preserve_format,
    "GeluType::None": "none",
    "GeluType::Tanh": "tanh",
    "M_PI": Number(math.pi, "double"),
    "simdgroup_size": Number(32, "uint32_t"),
}


def to_python(value: object) -> object:
    """A value as torch's Python API takes it."""
    match value:
        case Number() | Scalar():
            return value.value
        case Array():
            return [to_python(each) for each in value.items]
        case Dtype():
            return torch_dtype(value)
        case Missing():
            return None
    return value


def from_python(value: object) -> object:
    """What torch returns, as a stub holds it."""
    match value:
        case bool():
            return Number(value, "bool")
        case int():
            return Number(value, "int64_t")
        case float():
            return Number(value, "double")
        case complex():
            return Number(value, "complex<double>")
        case torch.Size():
            return longs(value)
        case torch.dtype():
            return dtype_of(torch.empty(0, dtype=value))
        case list():
            return Array([from_python(each) for each in value])
        case None:
            return MISSING
    return value


def dtype_argument(value: object) -> Dtype:
    if isinstance(value, torch.Tensor):
        return dtype_of(value)
    if isinstance(value, Dtype):
        return value
    raise NotUnderstoodError(f"{type(value).__name__} where a dtype belongs")


def _is_kind(kinds: str) -> Native:
    def check(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
        dtype = dtype_argument(arguments[0])
        found = {
            "floating": dtype.is_floating,
            "complex": dtype.is_complex,
            "integral": dtype.is_integral,
            "reduced": dtype in (Dtype.FLOAT16, Dtype.BFLOAT16),
        }[kinds]
        if kinds == "integral" and dtype is Dtype.BOOL:
            found = len(arguments) > 1 and truth(arguments[1])
        return Number(found, "bool")

    return check


def _mapped(table: dict[Dtype, Dtype]) -> Native:
    def look_up(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
        dtype = dtype_argument(arguments[0])
        return table.get(dtype, dtype)

    return look_up


def _element_size(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    return Number(dtype_argument(arguments[0]).size, "uint64_t")


def _result_type(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    left, right = (to_python(each) for each in arguments)
    return from_python(torch.result_type(left, right))  # type: ignore[call-overload]


def _promote_types(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    left, right = (torch_dtype(dtype_argument(each)) for each in arguments)
    return from_python(torch.promote_types(left, right))


def _metal_type(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    if isinstance(arguments[0], Missing):
        return "void"
    dtype = dtype_argument(arguments[0])
    if not dtype.on_mps:
        raise CheckFailedError(f"Undefined type {dtype.torch_name}")
    return dtype.metal


def _mps_scalar(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    value, dtype = arguments[0], dtype_argument(arguments[1])
    scalar = Scalar(value.value) if isinstance(value, Number) else value
    if not isinstance(scalar, Scalar):
        raise NotUnderstoodError("getMPSScalar of no scalar")
    return StoredScalar(scalar.stored_as(dtype))


def _product(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    items = arguments[0]
    if not isinstance(items, Array):
        raise NotUnderstoodError("multiply_integers of something that is no list")
    return Number(math.prod(items.integers()), "int64_t")


def _wrap_dim(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    dim, ndim = (int(each) for each in arguments[:2] if isinstance(each, Number))
    span = max(ndim, 1)
    if not -span <= dim < span:
        raise CheckFailedError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], got {dim})")
    return Number(dim % span, "int64_t")


def _reduced_dims(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    """make_dim_mask: a flag per dimension; all are set where none is named."""
    dims, ndim = arguments[0], arguments[1]
    named = dims.items if isinstance(dims, Array) else [] if isinstance(dims, Missing) else [dims]
    wrapped = [_wrap_dim(interpreter, [each, ndim], template) for each in named]
    chosen = [int(each) for each in wrapped if isinstance(each, Number)]
    if len(set(chosen)) < len(chosen):
        raise CheckFailedError("a dimension appears multiple times in the list of dims")
    assert isinstance(ndim, Number)
    return Array([Number(not chosen or dim in chosen, "bool") for dim in range(int(ndim))], "bool")


def _resize_output(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    tensor, sizes = arguments
    if not isinstance(tensor, torch.Tensor) or not isinstance(sizes, Array):
        raise NotUnderstoodError("resize_output of something that is no tensor")
    changed = list(tensor.shape) != sizes.integers()
    if changed:
        tensor.resize_(sizes.integers())
    return Number(changed, "bool")


def _empty(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    sizes, options = arguments[0], next((each for each in arguments if isinstance(each, Options)), None)
    if not isinstance(sizes, Array) or options is None:
        raise NotUnderstoodError("at::empty without options")
    # What a kernel leaves unwritten must show.
    tensor = torch.empty(sizes.integers(), dtype=options.dtype)
    return tensor.fill_(True if options.dtype is torch.bool else 77)


def _empty_like(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    tensor, *rest = arguments
    if not isinstance(tensor, torch.Tensor):
        raise NotUnderstoodError("at::empty_like of something that is no tensor")
    dtype = next((each.dtype for each in rest if isinstance(each, Options)), tensor.dtype)
    layout = next((each for each in rest if isinstance(each, torch.memory_format)), torch.preserve_format)
    fresh = torch.empty_like(tensor, dtype=dtype, memory_format=layout)
    return fresh.fill_(True if dtype is torch.bool else 77)


def _zeros(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    tensor = _empty(interpreter, arguments, template)
    assert isinstance(tensor, torch.Tensor)
    return tensor.zero_()


def _config(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    return IteratorConfig()


def _operands(inputs: int) -> Native:
    def build(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
        config = IteratorConfig(promotes=True, same_dtype=False)
        tensors = [each for each in arguments if isinstance(each, torch.Tensor)]
        config.outputs, config.inputs = tensors[:1], tensors[1 : 1 + inputs]
        return config.build()

    return build


def aten(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    """`at::name(...)` for any operator; `at::name_out(out, ...)` writes its first argument."""
    name, *rest = arguments
    values = [to_python(each) for each in rest]
    packet = getattr(torch.ops.aten, str(name), None)
    if packet is not None:
        return from_python(called(packet, values))
    packet = getattr(torch.ops.aten, str(name).removesuffix("_out"), None)
    if str(name).endswith("_out") and packet is not None:
        return called(packet, values[1:], out=values[0])
    raise NotUnderstoodError(f"the function {name}")


def called(function: Callable[..., object], values: Sequence[object], **keywords: object) -> object:
    """Call torch. Raises CheckFailedError with what torch says, NotUnderstoodError when the call does not fit."""
    try:
        return function(*values, **keywords)
    except TypeError as error:
        raise NotUnderstoodError(str(error).splitlines()[0]) from None
    except (RuntimeError, IndexError, ValueError) as error:
        text = str(error).splitlines()[0]
        if "failed to match any schema" in text or "Expected a value of type" in text:
            raise NotUnderstoodError(text) from None
        raise CheckFailedError(text) from None


NATIVES: dict[str, Native] = {
    "isFloatingType": _is_kind("floating"),
    "isComplexType": _is_kind("complex"),
    "isIntegralType": _is_kind("integral"),
    "isReducedFloatingType": _is_kind("reduced"),
    "supportedFloatingType": _is_kind("floating"),
    "toOpMathType": _mapped(_OPMATH),
    "toRealValueType": _mapped(_REAL),
    "toComplexType": _mapped({real: wide for wide, real in _REAL.items()}),
    "elementSize": _element_size,
    "result_type": _result_type,
    "promoteTypes": _promote_types,
    "scalarToMetalTypeString": _metal_type,
    "getMPSScalar": _mps_scalar,
    "maybe_wrap_dim": _wrap_dim,
    "make_dim_mask": _reduced_dims,
    "resize_output": _resize_output,
    "empty": _empty,
    "empty_like": _empty_like,
    "zeros": _zeros,
    "TensorIteratorConfig": _config,
    "TensorIterator::unary_op": _operands(1),
    "TensorIterator::binary_op": _operands(2),
    "TensorIterator::borrowing_binary_op": _operands(2),
    "multiply_integers": _product,
    "::": aten,
}
