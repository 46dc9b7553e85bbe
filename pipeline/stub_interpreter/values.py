"""What a stub's variables hold, beside numbers, strings, dtypes and tensors."""

from __future__ import annotations

import struct as packing
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.stub_interpreter.errors import CheckFailedError, NotUnderstoodError
from pipeline.stub_interpreter.numbers import Number, convert, encode, fitted, overflows, size_of, type_of_dtype

SCALAR_TYPES = {
    "Float": Dtype.FLOAT32,
    "Half": Dtype.FLOAT16,
    "BFloat16": Dtype.BFLOAT16,
    "Double": Dtype.FLOAT64,
    "Int": Dtype.INT32,
    "Long": Dtype.INT64,
    "Short": Dtype.INT16,
    "Char": Dtype.INT8,
    "Byte": Dtype.UINT8,
    "Bool": Dtype.BOOL,
    "ComplexHalf": Dtype.COMPLEX32,
    "ComplexFloat": Dtype.COMPLEX64,
    "ComplexDouble": Dtype.COMPLEX128,
    "UInt16": Dtype.UINT16,
    "UInt32": Dtype.UINT32,
    "UInt64": Dtype.UINT64,
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A c10::Scalar: a Python number whose kind is part of it."""

    value: complex | float | int | bool

    def to(self, name: str) -> Number:
        """`.to<T>()`. Raises NotUnderstoodError for a complex value read as a real one, CheckFailedError beyond T."""
        if isinstance(self.value, complex) and not name.startswith("complex") and self.value.imag:
            raise NotUnderstoodError(f"value cannot be converted to {name} without losing its imaginary part")
        if overflows(self.number, name):
            raise CheckFailedError(f"value cannot be converted to type {name} without overflow")
        return convert(self.number, name)

    @property
    def number(self) -> Number:
        if isinstance(self.value, bool):
            return Number(self.value, "bool")
        if isinstance(self.value, int):
            return fitted(self.value, "int64_t")
        return Number(self.value, "complex<double>" if isinstance(self.value, complex) else "double")

    def stored_as(self, dtype: Dtype) -> bytes:
        """`getMPSScalar(scalar, dtype)`: the bytes that are bound; doubles narrow to float."""
        narrow = {Dtype.FLOAT64: Dtype.FLOAT32, Dtype.COMPLEX128: Dtype.COMPLEX64}.get(dtype, dtype)
        return self.to(type_of_dtype(narrow)).to_bytes()


@dataclass(frozen=True)
class StoredScalar:
    """An MPSScalar."""

    data: bytes


@dataclass
class Struct:
    """An object of a struct with plain members, in order; `types` are canonical number types."""

    name: str
    members: dict[str, object]
    types: dict[str, str]

    def to_bytes(self) -> bytes:
        """As the compiler lays it out: every member on a multiple of its size."""
        data, widest = b"", 1
        for name, value in self.members.items():
            kind = self.types[name]
            items = value.items if isinstance(value, Array) else [value]
            size = size_of(kind)
            align = size // 2 if kind.startswith("complex") else size
            widest = max(widest, align)
            data += bytes(-len(data) % align)
            for item in items:
                data += encode(convert(item, kind).value, kind)
        return data + bytes(-len(data) % widest)


@dataclass(slots=True)
class Array:
    """A std::array, std::vector, ArrayRef or initializer list; `element` is its canonical number type if it has one."""

    items: list[object]
    element: str | None = None

    def to_bytes(self) -> bytes:
        if not self.items:
            return packing.pack("q", 0)
        return b"".join(item_bytes(item, self.element) for item in self.items)

    def integers(self) -> list[int]:
        return [int(convert(item, "int64_t").value.real) for item in self.items]


@dataclass
class Options:
    """TensorOptions: what at::empty is told."""

    dtype: torch.dtype


@dataclass
class Missing:
    """An unset std::optional, std::nullopt, or an undefined tensor."""


MISSING = Missing()


@dataclass(frozen=True)
class Opaque:
    """Something only passed around: a stream, a queue, a profiler."""

    name: str


@dataclass
class Grid:
    """An MTLSize."""

    sizes: tuple[int, int, int]


@dataclass
class Buffer:
    """A tensor's MTLBuffer, which starts at its storage."""

    tensor: torch.Tensor


@dataclass
class Limits:
    """`std::numeric_limits<T>`."""

    type: str


@dataclass(frozen=True)
class Alias:
    """A reference: another name for what an expression names in `memory`."""

    node: object
    memory: Memory


def copied(value: object) -> object:
    """A variable's own copy of what it is initialized with; tensors and iterators are shared, as in C++."""
    if isinstance(value, Array):
        return Array([copied(each) for each in value.items], value.element)
    if isinstance(value, Struct):
        return Struct(value.name, {name: copied(each) for name, each in value.members.items()}, value.types)
    return value


@dataclass(slots=True)
class Memory:
    """Names and what they hold, inner scopes first."""

    names: dict[str, object] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    outer: Memory | None = None

    def find(self, name: str) -> Memory | None:
        scope: Memory | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.outer
        return None

    def every(self) -> dict[str, object]:
        """All names that can be seen from here."""
        return {**({} if self.outer is None else self.outer.every()), **self.names}

    def type(self, name: str) -> str | None:
        scope: Memory | None = self
        while scope is not None:
            if name in scope.types:
                return scope.types[name]
            scope = scope.outer
        return None


def item_bytes(value: object, element: str | None = None) -> bytes:
    """A value as mtl_setArg copies it. Raises NotUnderstoodError for what it would not take."""
    if isinstance(value, Dtype):
        value = Number(value.code, "int8_t")
    if isinstance(value, Number):
        return convert(value, element).to_bytes() if element else value.to_bytes()
    if isinstance(value, (Array, Struct)):
        return value.to_bytes()
    if isinstance(value, StoredScalar):
        return value.data
    raise NotUnderstoodError(f"{type(value).__name__} as a kernel argument")


def longs(values: Sequence[int]) -> Array:
    return Array([Number(value, "int64_t") for value in values], "int64_t")
