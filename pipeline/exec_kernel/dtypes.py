"""The dtypes a Metal kernel can be instantiated for, with the names and codes the host passes to it."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    BOOL = "bool"
    UNSIGNED = "unsigned"
    SIGNED = "signed"
    FLOATING = "floating"
    COMPLEX = "complex"


class Dtype(Enum):
    """One row of `C10_METAL_ALL_TYPES_FUNCTOR` (c10/metal/common.h), and float64 and complex128, which MPS lacks.

    `torch_name` is the attribute of the torch module, `metal` the type in a host name (`scalarToMetalTypeString`),
    `code` the ScalarType number bound to cast kernels, `size` bytes per element.
    """

    UINT8 = ("uint8", "uchar", 0, 1, Kind.UNSIGNED)
    INT8 = ("int8", "char", 1, 1, Kind.SIGNED)
    INT16 = ("int16", "short", 2, 2, Kind.SIGNED)
    INT32 = ("int32", "int", 3, 4, Kind.SIGNED)
    INT64 = ("int64", "long", 4, 8, Kind.SIGNED)
    FLOAT16 = ("float16", "half", 5, 2, Kind.FLOATING)
    FLOAT32 = ("float32", "float", 6, 4, Kind.FLOATING)
    FLOAT64 = ("float64", None, 7, 8, Kind.FLOATING)
    COMPLEX32 = ("complex32", "half2", 8, 4, Kind.COMPLEX)
    COMPLEX64 = ("complex64", "float2", 9, 8, Kind.COMPLEX)
    COMPLEX128 = ("complex128", None, 10, 16, Kind.COMPLEX)
    BOOL = ("bool", "bool", 11, 1, Kind.BOOL)
    BFLOAT16 = ("bfloat16", "bfloat", 15, 2, Kind.FLOATING)
    UINT16 = ("uint16", "ushort", 27, 2, Kind.UNSIGNED)
    UINT32 = ("uint32", "uint", 28, 4, Kind.UNSIGNED)
    UINT64 = ("uint64", "ulong", 29, 8, Kind.UNSIGNED)

    def __init__(self, torch_name: str, metal: str | None, code: int, size: int, kind: Kind) -> None:
        self.torch_name = torch_name
        self._metal = metal
        self.code = code
        self.size = size
        self.kind = kind

    @property
    def metal(self) -> str:
        """The type as it stands in a host name. Raises ValueError for the two dtypes MPS does not have."""
        if self._metal is None:
            raise ValueError(f"{self.torch_name} does not exist on MPS")
        return self._metal

    @property
    def on_mps(self) -> bool:
        return self._metal is not None

    @property
    def is_floating(self) -> bool:
        return self.kind is Kind.FLOATING

    @property
    def is_complex(self) -> bool:
        return self.kind is Kind.COMPLEX

    @property
    def is_integral(self) -> bool:
        """Integers and bool."""
        return not (self.is_floating or self.is_complex)

    @classmethod
    def of_metal(cls, name: str) -> Dtype | None:
        """The dtype a host name spells `name`, or None."""
        return _BY_METAL.get(name)

    @classmethod
    def of_torch(cls, name: str) -> Dtype:
        """The dtype called `torch.NAME`; a leading `torch.` is allowed. Raises KeyError."""
        return _BY_TORCH[name.removeprefix("torch.")]


_BY_METAL = {dtype.metal: dtype for dtype in Dtype if dtype.on_mps} | {
    "uint16_t": Dtype.UINT16,
    "uint32_t": Dtype.UINT32,
    "uint64_t": Dtype.UINT64,
}
_BY_TORCH = {dtype.torch_name: dtype for dtype in Dtype}
MPS_DTYPES = tuple(dtype for dtype in Dtype if dtype.on_mps)
