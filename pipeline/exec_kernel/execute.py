"""Run what an exec helper would launch, on a library of compiled kernels and real tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch

from pipeline.errors import PipelineError
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.iteration import Iteration, Operand, iterate
from pipeline.exec_kernel.launch import Argument, Force, HelperLimit, Launch, OperandArgument, plan
from pipeline.exec_kernel.names import Request, registered_with_input


class ShaderLibrary(Protocol):
    """What torch.mps.compile_shader returns, and what pipeline.metal.compile_shader returns."""

    def __dir__(self) -> list[str]: ...

    def __getattr__(self, name: str) -> Callable[..., Any]: ...


@dataclass(frozen=True)
class Dispatched:
    """A kernel that was run: what was bound to each index, the grid and the threadgroup, one to three numbers each.

    Bytes were passed by value. `flavour` is the helper's choice; for a stub that dispatches itself it is the name.
    `noticed` is what the library returned of the launch.
    """

    host_name: str
    flavour: str
    arguments: tuple[torch.Tensor | bytes, ...]
    threads: tuple[int, ...]
    group: tuple[int, ...]
    threadgroup_memory: tuple[int, ...] = ()
    noticed: object = None


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
) -> list[Dispatched]:
    """Do what the helper of `request` does with an iterator over these tensors; returns what was launched.

    `cpu_scalars` are positions among the inputs. Raises MissingKernelError before anything runs when one of the names
    is not in the library, and what `launch.plan` and `iteration.iterate` raise.
    """
    iteration = iteration_of(outputs, inputs, common, cpu_scalars)
    tensors = (*outputs, *inputs)
    on_cpu = frozenset(len(outputs) + index for index in cpu_scalars)
    return exec_on(kernels, request, iteration, tensors, scalar=scalar, cpu_scalars=on_cpu, force=force)


def exec_on(
    kernels: Kernels,
    request: Request,
    iteration: Iteration,
    tensors: Sequence[torch.Tensor],
    *,
    scalar: bytes | None = None,
    cpu_scalars: frozenset[int] = frozenset(),
    force: Force | None = None,
) -> list[Dispatched]:
    """The same for an iteration that exists; `tensors` are its operands and `cpu_scalars` positions among them.

    Raises HelperLimit as well, where the name is one that no registration of this version's macros gives.
    """
    launches = plan(request, iteration, scalar, kernels.names.__contains__, force)
    for launch in launches:
        if launch.host_name not in kernels.names:
            if registered_with_input(request, launch.host_name, kernels.names.__contains__):
                raise HelperLimit(f"{request.helper.function} names cast kernels unlike the macro that registers them")
            raise MissingKernelError(launch.host_name)
    return [run(kernels, _bound(launch, tensors, cpu_scalars)) for launch in launches]


def run(kernels: Kernels, dispatched: Dispatched) -> Dispatched:
    """Run one kernel of the library. Scalars and arrays are bound as small buffers of exactly their size."""
    bound = [
        torch.frombuffer(bytearray(each), dtype=torch.uint8).to(kernels.device) if isinstance(each, bytes) else each
        for each in dispatched.arguments
    ]
    options = dict(kernels.options)
    if dispatched.threadgroup_memory:
        if "launch" not in options:
            raise PipelineError(f"{dispatched.host_name} needs threadgroup memory that torch.mps cannot be told of")
        options["launch"] = replace(options["launch"], threadgroup_memory=dispatched.threadgroup_memory)
    function = getattr(kernels.library, dispatched.host_name)
    noticed = function(*bound, threads=list(dispatched.threads), group_size=list(dispatched.group), **options)
    return replace(dispatched, noticed=noticed)


def _bound(launch: Launch, tensors: Sequence[torch.Tensor], cpu_scalars: frozenset[int]) -> Dispatched:
    arguments = tuple(_argument(argument, tensors, cpu_scalars) for argument in launch.arguments)
    return Dispatched(launch.host_name, launch.flavour, arguments, launch.threads, launch.group)


def _argument(argument: Argument, tensors: Sequence[torch.Tensor], cpu_scalars: frozenset[int]) -> torch.Tensor | bytes:
    if not isinstance(argument, OperandArgument):
        return argument
    tensor = tensors[argument.index]
    if argument.cast_to is not None:
        return tensor.to(torch_dtype(argument.cast_to))
    if argument.index in cpu_scalars:
        return by_value(tensor)
    return as_bound(tensor, argument.offset)


def as_bound(tensor: torch.Tensor, offset: int) -> torch.Tensor:
    """A tensor whose first element is the one `offset` bytes after that of `tensor`.

    Its stride of 0 says that it stands for a place alone: strides lead anywhere from there, backwards in aten::flip.
    """
    if offset == 0:
        return tensor
    start = tensor.storage_offset() + offset // tensor.element_size()
    return tensor.as_strided((1,), (0,), start)


def by_value(scalar: torch.Tensor) -> torch.Tensor:
    """A 0-dim CPU tensor as `mtl_setBuffer` of 2.13 copies it: the storage's first element, doubles narrowed."""
    if scalar.dtype is torch.float64:
        return scalar.to(torch.float32)
    if scalar.dtype is torch.complex128:
        return scalar.to(torch.complex64)
    return scalar.as_strided((), (), 0).clone()
