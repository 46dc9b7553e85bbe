"""The host side of a kernel: what its stub does with an iterator."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from pipeline.errors import PipelineError
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import Kernels, dtype_of, exec_kernel
from pipeline.exec_kernel.launch import Force, HostRefusal, Launch
from pipeline.exec_kernel.names import Helper, Request


class HostUnknownError(PipelineError):
    """It cannot be told what the host side does."""


@dataclass(frozen=True)
class Invocation:
    """One call of a stub: tensors of the iterator, the stub's further arguments, and what to pin."""

    outputs: Sequence[torch.Tensor]
    inputs: Sequence[torch.Tensor]
    common: torch.dtype
    scalars: tuple[object, ...] = ()
    cpu_scalars: frozenset[int] = frozenset()
    force: Force | None = None


class Host(Protocol):
    def run(self, kernels: Kernels, invocation: Invocation) -> list[Launch]:
        """Run the stub. Raises MissingKernelError, HostRefusal, HelperLimit, or IterationError."""


@dataclass(frozen=True)
class PlainHost:
    """The stub that a kernel file implies when none is given: one exec helper, the registered name, its scalar."""

    request: Request

    def run(self, kernels: Kernels, invocation: Invocation) -> list[Launch]:
        request, scalar = self.request, None
        if request.scalar is not None:
            if len(invocation.scalars) != 1:
                raise HostUnknownError(f"{request.name} takes one scalar, the operator has {len(invocation.scalars)}")
            kind = Dtype.of_metal(request.scalar) or dtype_of(torch.empty((), dtype=invocation.common))
            scalar = encode(invocation.scalars[0], kind)
        elif any(each not in (1, None, False) for each in invocation.scalars):
            raise HostRefusal("the kernel takes no scalar")
        return exec_kernel(
            kernels,
            request,
            invocation.outputs,
            invocation.inputs,
            invocation.common,
            scalar=scalar,
            cpu_scalars=invocation.cpu_scalars,
            force=invocation.force,
        )


_FORMATS = {
    Dtype.FLOAT32: "f", Dtype.FLOAT16: "e", Dtype.INT64: "q", Dtype.INT32: "i", Dtype.INT16: "h", Dtype.INT8: "b",
    Dtype.UINT8: "B", Dtype.BOOL: "?", Dtype.UINT16: "H", Dtype.UINT32: "I", Dtype.UINT64: "Q",
}  # fmt: skip


def encode(value: object, dtype: Dtype) -> bytes:
    """A c10::Scalar as `getMPSScalar` stores it for a kernel argument of this dtype."""
    if dtype.is_complex:
        number = complex(value)  # type: ignore[call-overload]
        return struct.pack("2f" if dtype is Dtype.COMPLEX64 else "2e", number.real, number.imag)
    if dtype is Dtype.BFLOAT16:
        return bytes(torch.tensor(value, dtype=torch.bfloat16).view(torch.uint8).tolist())
    if dtype.is_floating:
        tensor = torch.tensor(float(value), dtype=torch.float64).to(getattr(torch, dtype.torch_name))  # type: ignore[arg-type]
        return bytes(tensor.reshape(1).view(torch.uint8).tolist())
    return struct.pack(_FORMATS[dtype], value)


def implied_host(operator: str, arity: int, host_names: Sequence[str]) -> PlainHost:
    """The stub for a kernel file without one, told from the names it registers.

    Raises HostUnknownError when they are not those of one functor of this arity.
    """
    pattern = re.compile(r"(?P<name>\w+?)_(?P<flavour>strided|dense)_(?P<types>\w+)")
    plain: dict[str, set[str]] = {}
    for host_name in host_names:
        match = pattern.fullmatch(host_name)
        if match and not re.match(r"(cast|castout|scalar|ilp\d|broadcast)_", match["types"]):
            plain.setdefault(match["name"], set()).add(match["types"])
    if not plain:
        raise HostUnknownError("the kernel file registers no elementwise kernel; give the stub too")
    name = operator if operator in plain else next(iter(plain))
    if name != operator and len(plain) > 1:
        raise HostUnknownError(f"which of {', '.join(sorted(plain))} does {operator} use? give the stub too")
    scalars = {types.split("_")[2] for types in plain[name] if types.count("_") == 2}
    if len(scalars) > 1 and len(scalars) != len(plain[name]):
        raise HostUnknownError(f"{name} is registered for several scalar types; give the stub too")
    helper = {1: Helper.UNARY, 2: Helper.BINARY, 3: Helper.TERNARY}[arity]
    scalar = next(iter(scalars)) if len(scalars) == 1 else None
    casts_out = any(re.match(rf"{name}_strided_castout_bool_", each) for each in host_names)
    return PlainHost(Request(helper, name, scalar, Dtype.BOOL if casts_out else None))
