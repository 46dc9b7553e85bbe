"""Run what an exec helper would launch, on a library of compiled kernels and real tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from pipeline.errors import PipelineError
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.iteration import Iteration, Operand, iterate
from pipeline.exec_kernel.launch import Argument, Force, Launch, OperandArgument, plan
from pipeline.exec_kernel.names import Request


class ShaderLibrary(Protocol):
    """What torch.mps.compile_shader returns, and what pipeline.metal.compile_shader returns."""

    def __dir__(self) -> list[str]: ...

    def __getattr__(self, name: str) -> Callable[..., Any]: ...


class MissingKernelError(PipelineError):
    """The library has no function of that name; PyTorch fails with "Failed to create function state object"."""

    def __init__(self, host_name: str) -> None:
        super().__init__(f"no kernel is registered as {host_name}")
        self.host_name = host_name


@dataclass(frozen=True)
class Kernels:
    """A compiled library, the names it has, the device its tensors live on, and keywords for every launch."""

    library: ShaderLibrary
    names: frozenset[str]
    device: str = "cpu"
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, library: ShaderLibrary, device: str = "cpu", **options: Any) -> Kernels:
        return cls(library, frozenset(dir(library)), device, options)


def dtype_of(tensor: torch.Tensor) -> Dtype:
    return _DTYPES[tensor.dtype]


def torch_dtype(dtype: Dtype) -> torch.dtype:
    found = getattr(torch, dtype.torch_name)
    assert isinstance(found, torch.dtype)
    return found


_DTYPES = {torch_dtype(dtype): dtype for dtype in Dtype}


def operand(tensor: torch.Tensor, on_cpu: bool = False) -> Operand:
    return Operand(dtype_of(tensor), tuple(tensor.shape), tuple(tensor.stride()), on_cpu)


def iteration_of(
    outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], common: torch.dtype, cpu_scalars: frozenset[int]
) -> Iteration:
    """The iteration over these tensors; `cpu_scalars` are the positions of inputs that stay on the CPU on a Mac."""
    return iterate(
        [operand(each) for each in outputs],
        [operand(each, index in cpu_scalars) for index, each in enumerate(inputs)],
        _DTYPES[common],
    )


def exec_kernel(
    kernels: Kernels,
    request: Request,
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    common: torch.dtype,
    *,
    scalar: bytes | None = None,
    cpu_scalars: frozenset[int] = frozenset(),
    force: Force | None = None,
) -> list[Launch]:
    """Do what the helper of `request` does with an iterator over these tensors; returns what was launched.

    Raises MissingKernelError before anything runs when one of the names is not in the library, and what
    `launch.plan` and `iteration.iterate` raise.
    """
    iteration = iteration_of(outputs, inputs, common, cpu_scalars)
    launches = plan(request, iteration, scalar, kernels.names.__contains__, force)
    for launch in launches:
        if launch.host_name not in kernels.names:
            raise MissingKernelError(launch.host_name)
    tensors = (*outputs, *inputs)
    for launch in launches:
        dispatch(kernels, launch, tensors, frozenset(len(outputs) + index for index in cpu_scalars))
    return launches


def dispatch(
    kernels: Kernels, launch: Launch, tensors: Sequence[torch.Tensor], cpu_scalars: frozenset[int] = frozenset()
) -> None:
    """Bind the arguments and run one launch."""
    bound = [_bound(argument, tensors, kernels.device, cpu_scalars) for argument in launch.arguments]
    function = getattr(kernels.library, launch.host_name)
    function(*bound, threads=list(launch.threads), group_size=list(launch.group), **kernels.options)


def _bound(
    argument: Argument, tensors: Sequence[torch.Tensor], device: str, cpu_scalars: frozenset[int]
) -> torch.Tensor:
    """A tensor whose first element is what the kernel's buffer starts with.

    Scalars and arrays that the host passes by value are bound as small buffers of exactly their size.
    """
    if isinstance(argument, OperandArgument):
        tensor = tensors[argument.index]
        if argument.cast_to is not None:
            return tensor.to(torch_dtype(argument.cast_to))
        if argument.index in cpu_scalars:
            return _by_value(tensor).to(device)
        if argument.offset:
            start = tensor.storage_offset() + argument.offset // tensor.element_size()
            return tensor.as_strided((1,), (1,), start)
        return tensor
    return torch.frombuffer(bytearray(argument), dtype=torch.uint8).to(device)


def _by_value(scalar: torch.Tensor) -> torch.Tensor:
    """A 0-dim CPU tensor as `mtl_setBuffer` copies it: the storage's first element, doubles narrowed."""
    if scalar.dtype is torch.float64:
        return scalar.to(torch.float32)
    if scalar.dtype is torch.complex128:
        return scalar.to(torch.complex64)
    return scalar.as_strided((), (), 0).clone()
