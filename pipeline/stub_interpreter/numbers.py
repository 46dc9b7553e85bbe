"""C++ numbers: a value with its type, and the conversions and arithmetic between them."""

from __future__ import annotations

import math
import operator
import struct
from ctypes import c_float
from dataclasses import dataclass
from functools import cache

import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.stub_interpreter.errors import FaultError, NotUnderstoodError

# Name -> (struct format, bytes, signed); what is not here is not a number.
_INTEGERS = {
    "bool": ("?", 1, False),
    "char": ("b", 1, True),
    "int8_t": ("b", 1, True),
    "uint8_t": ("B", 1, False),
    "int16_t": ("h", 2, True),
    "uint16_t": ("H", 2, False),
    "int": ("i", 4, True),
    "uint32_t": ("I", 4, False),
    "int64_t": ("q", 8, True),
    "uint64_t": ("Q", 8, False),
}
_ALIASES = {
    "unsigned": "uint32_t",
    "unsigned int": "uint32_t",
    "uint": "uint32_t",
    "int32_t": "int",
    "short": "int16_t",
    "ushort": "uint16_t",
    "uchar": "uint8_t",
    "unsigned char": "uint8_t",
    "long": "int64_t",
    "long long": "int64_t",
    "unsigned long": "uint64_t",
    "ulong": "uint64_t",
    "size_t": "uint64_t",
    "ptrdiff_t": "int64_t",
    "NSUInteger": "uint64_t",
    "NSInteger": "int64_t",
    "Half": "half",
    "BFloat16": "bfloat",
}
_FLOATS = {"half": 2, "bfloat": 2, "float": 4, "double": 8}
_COMPLEX = {"complex<Half>": "half", "complex<float>": "float", "complex<double>": "double"}
_OF_DTYPE = {
    Dtype.FLOAT32: "float",
    Dtype.FLOAT64: "double",
    Dtype.FLOAT16: "half",
    Dtype.BFLOAT16: "bfloat",
    Dtype.INT64: "int64_t",
    Dtype.INT32: "int",
    Dtype.INT16: "int16_t",
    Dtype.INT8: "int8_t",
    Dtype.UINT8: "uint8_t",
    Dtype.BOOL: "bool",
    Dtype.UINT16: "uint16_t",
    Dtype.UINT32: "uint32_t",
    Dtype.UINT64: "uint64_t",
    Dtype.COMPLEX32: "complex<Half>",
    Dtype.COMPLEX64: "complex<float>",
    Dtype.COMPLEX128: "complex<double>",
}
_TORCH = {"half": torch.float16, "bfloat": torch.bfloat16, "float": torch.float32, "double": torch.float64}
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_DTYPE_OF = {name: dtype for dtype, name in _OF_DTYPE.items()}


@dataclass(slots=True, eq=False)
class Number:
    """A number of the C++ type `type` (canonical, see `canonical`), which it fits. Never changed."""

    value: complex | float | int | bool
    type: str

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        if self.type not in _INTEGERS:
            raise NotUnderstoodError(f"a {self.type} used as an index")
        return int(self.value.real)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def to_bytes(self) -> bytes:
        """As it lies in memory; a double narrows to float, as kernel arguments do."""
        return encode(self.value, "float" if self.type == "double" else self.type)


@cache
def canonical(name: str) -> str | None:
    """The one name of a number type: `unsigned int` is `uint32_t`; None for other types."""
    name = _ALIASES.get(name, name)
    if name.startswith("complex<"):
        inner = _ALIASES.get(name[8:-1], name[8:-1])
        name = f"complex<{'Half' if inner == 'half' else inner}>"
    return name if name in _INTEGERS or name in _FLOATS or name in _COMPLEX else None


def type_of_dtype(dtype: Dtype) -> str:
    return _OF_DTYPE[dtype]


def dtype_of_type(name: str) -> Dtype:
    return _DTYPE_OF[name]


def size_of(name: str) -> int:
    if name in _COMPLEX:
        return 2 * size_of(_COMPLEX[name])
    return _FLOATS[name] if name in _FLOATS else _INTEGERS[name][1]


def convert(value: object, name: str) -> Number:
    """`static_cast<name>(value)`: rounds, truncates or wraps as C++ does on the targets."""
    if isinstance(value, Dtype):
        value = Number(value.code, "int")
    if isinstance(value, bool):
        value = Number(value, "bool")
    if not isinstance(value, Number):
        raise NotUnderstoodError(f"{value!r} is no number")
    return value if value.type == name else fitted(value.value, name)


def fitted(raw: complex | float | int | bool, name: str) -> Number:
    """Any number as one of a type: rounded, truncated or wrapped."""
    if name in _COMPLEX:
        part = _COMPLEX[name]
        return Number(complex(_rounded(raw.real, part), _rounded(raw.imag, part)), name)
    raw = raw.real
    if name in _FLOATS:
        return Number(_rounded(float(raw), name), name)
    if name == "bool":
        return Number(bool(raw), name)
    whole = int(raw) if math.isfinite(raw) else 0
    bits = 8 * _INTEGERS[name][1]
    whole &= (1 << bits) - 1
    if _INTEGERS[name][2] and whole >> (bits - 1):
        whole -= 1 << bits
    return Number(whole, name)


def overflows(number: Number, name: str) -> bool:
    """Whether c10::checked_convert refuses: beyond the type, infinity apart, or below minus the range of an unsigned.

    From c10/util/TypeCast.h; bool takes any number and goes everywhere.
    """
    if "bool" in (name, number.type):
        return False
    for part in (number.value.real, number.value.imag):
        if name in _INTEGERS:
            _, size, signed = _INTEGERS[name]
            most = (1 << (8 * size - signed)) - 1
            least = -most - 1 if signed else 0 if number.type in _FLOATS else -most
            if not math.isfinite(part) or not least <= part <= most:
                return True
        elif math.isfinite(part) and abs(part) > torch.finfo(_TORCH[_COMPLEX.get(name, name)]).max:
            return True
    return False


def encode(value: complex | float | int | bool, name: str) -> bytes:
    if name in _COMPLEX:
        return encode(value.real, _COMPLEX[name]) + encode(value.imag, _COMPLEX[name])
    if name in _INTEGERS:
        return struct.pack(_INTEGERS[name][0], value)
    if name == "bfloat":
        return bytes(torch.tensor([value.real], dtype=torch.bfloat16).view(torch.uint8).tolist())
    return struct.pack({"half": "e", "float": "f", "double": "d"}[name], value.real)


def _rounded(value: float, name: str) -> float:
    if name == "double":
        return float(value)
    if name == "float":
        return c_float(value).value
    dtype = torch.float16 if name == "half" else torch.bfloat16
    return float(torch.tensor(value, dtype=torch.float64).to(dtype))


@cache
def common_type(left: str, right: str) -> str:
    """The usual arithmetic conversions."""
    if left in _COMPLEX or right in _COMPLEX:
        return left if left in _COMPLEX else right
    if left in _FLOATS or right in _FLOATS:
        floats = [each for each in (left, right) if each in _FLOATS]
        if set(floats) == {"half", "bfloat"}:
            return "float"
        return max(floats, key=lambda name: _FLOATS[name])
    left, right = promoted(left), promoted(right)
    size = max(_INTEGERS[left][1], _INTEGERS[right][1])
    unsigned = any(not _INTEGERS[each][2] for each in (left, right) if _INTEGERS[each][1] == size)
    return {(4, True): "uint32_t", (4, False): "int", (8, True): "uint64_t", (8, False): "int64_t"}[size, unsigned]


def promoted(name: str) -> str:
    """What arithmetic on one number of a type gives."""
    return "int" if name in _INTEGERS and _INTEGERS[name][1] < 4 else name


def arithmetic(sign: str, left: Number, right: Number) -> Number:
    """`left sign right` for + - * / % & | ^ << >>. Raises NotUnderstoodError where C++ would be undefined."""
    name = promoted(left.type) if sign in ("<<", ">>") else common_type(left.type, right.type)
    a, b = convert(left, name).value, convert(right, name).value
    if sign in ("+", "-", "*"):
        result = a + b if sign == "+" else a - b if sign == "-" else a * b
        return fitted(result, name)
    if name not in _INTEGERS:
        if sign == "/":
            return fitted(_quotient(a, b), name)
        raise NotUnderstoodError(f"{sign} on {name}")
    whole, other = int(a.real), int(b.real)
    if sign in ("/", "%"):
        if other == 0:
            raise FaultError("integer division by zero")
        quotient = abs(whole) // abs(other) * (1 if (whole < 0) == (other < 0) else -1)
        return fitted(quotient if sign == "/" else whole - quotient * other, name)
    match sign:
        case "&":
            return fitted(whole & other, name)
        case "|":
            return fitted(whole | other, name)
        case "^":
            return fitted(whole ^ other, name)
        case "<<":
            return fitted(whole << other, name)
        case ">>":
            return fitted(whole >> other, name)
    raise NotUnderstoodError(f"the operator {sign}")


def ordered(sign: str, left: Number, right: Number) -> bool:
    """`left sign right` for == != < <= > >=."""
    name = common_type(left.type, right.type)
    a, b = convert(left, name).value, convert(right, name).value
    if sign in ("==", "!="):
        return (a == b) == (sign == "==")
    return bool(_ORDERS[sign](a.real, b.real))


def _quotient(a: complex | float, b: complex | float) -> complex | float:
    if isinstance(a, complex) or isinstance(b, complex):
        return complex(torch.tensor(a, dtype=torch.complex128) / torch.tensor(b, dtype=torch.complex128))
    return float(torch.tensor(float(a), dtype=torch.float64) / torch.tensor(float(b), dtype=torch.float64))
