"""The host side of a kernel: what its stub does with an iterator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from pipeline.errors import PipelineError
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import Dispatched, Kernels, exec_on
from pipeline.exec_kernel.launch import Force, HostRefusal
from pipeline.exec_kernel.names import Helper, Request
from pipeline.exec_kernel.promotion import common_dtype
from pipeline.numerics.targets import Target
from pipeline.stub_interpreter.aten import from_python
from pipeline.stub_interpreter.errors import FaultError
from pipeline.stub_interpreter.iterators import TensorIterator
from pipeline.stub_interpreter.stub import StubText
from pipeline.stub_interpreter.values import Scalar


class HostUnknownError(PipelineError):
    """It cannot be told what the host side does."""


@dataclass(frozen=True)
class Invocation:
    """One call of a target: outputs, the operator's arguments by name, and what to pin.

    `natural` is the dtype of the operator's first result; `cpu_scalars` are names of arguments that stay on the CPU.
    """

    target: Target
    outputs: Sequence[torch.Tensor]
    arguments: dict[str, Any]
    natural: torch.dtype
    cpu_scalars: frozenset[str] = frozenset()
    force: Force | None = None

    def iterator(self) -> TensorIterator:
        """The iterator that the shared part of ATen makes. Raises IterationError."""
        target = self.target
        if target.operands is not None:
            outputs, inputs = target.operands(self.outputs, self.arguments)
        else:
            outputs, inputs = self.outputs, [self.arguments[name] for name in target.inputs]
        numbers = frozenset(
            index
            for index, (each, name) in enumerate(zip(inputs, target.inputs, strict=False))
            if not isinstance(each, torch.Tensor) or name in self.cpu_scalars
        )
        common = common_dtype(inputs, self.natural)
        tensors = [each if isinstance(each, torch.Tensor) else wrapped(each) for each in inputs]
        iterator = TensorIterator.over(outputs, tensors, common, numbers)
        return iterator.flipped() if target.flips else iterator


def wrapped(number: complex | float | bool) -> torch.Tensor:
    """A Python number as an operand: a 0-dim CPU tensor of 64 bits."""
    if isinstance(number, bool):
        return torch.tensor(number)
    kind = (
        torch.int64 if isinstance(number, int) else torch.complex128 if isinstance(number, complex) else torch.float64
    )
    return torch.tensor(number, dtype=kind)


class Host(Protocol):
    """Host code. `returns` tells that results come back as values, and what was given as outputs is left alone.

    `guarded` tells that a part of ATen which all devices share checks the arguments first.
    """

    @property
    def returns(self) -> bool: ...

    @property
    def guarded(self) -> bool: ...

    @property
    def source(self) -> str:
        """The text of the host code, as far as there is one."""

    def run(self, kernels: Kernels, invocation: Invocation) -> tuple[list[Dispatched], tuple[torch.Tensor, ...]]:
        """Run the host code: what was dispatched, and the tensors it returned.

        Raises MissingKernelError, HostRefusal, CheckFailedError, HelperLimit, IterationError, NotUnderstoodError.
        """


@dataclass(frozen=True)
class PlainHost:
    """The stub that a kernel file implies when none is given: one exec helper, the registered name, its scalar."""

    request: Request
    returns: bool = False
    guarded: bool = True
    source: str = ""

    def run(self, kernels: Kernels, invocation: Invocation) -> tuple[list[Dispatched], tuple[torch.Tensor, ...]]:
        request, scalar = self.request, None
        iterator = invocation.iterator()
        scalars = invocation.target.scalars(invocation.arguments)
        if request.scalar is not None:
            if len(scalars) != 1:
                raise HostUnknownError(f"{request.name} takes one scalar, the operator has {len(scalars)}")
            number = scalars[0]
            if not isinstance(number, (bool, int, float, complex)):
                raise HostUnknownError(f"{request.name} takes a number, not {number!r}")
            scalar = Scalar(number).stored_as(Dtype.of_metal(request.scalar) or iterator.view.common)
        elif any(each is not None and each is not False and each != 1 for each in scalars):
            raise HostRefusal("the kernel takes no scalar")
        dispatched = exec_on(
            kernels,
            request,
            iterator.view,
            iterator.tensors,
            scalar=scalar,
            cpu_scalars=frozenset(iterator.outputs + each for each in iterator.cpu_scalars),
            force=invocation.force,
        )
        return dispatched, ()


@dataclass(frozen=True)
class StubHost:
    """The stub's own text, run. `function` is the one registered for the target, or named by a dispatch row."""

    text: StubText
    function: str
    returns: bool = False
    guarded: bool = True

    @property
    def source(self) -> str:
        return self.text.text

    def arguments(self, invocation: Invocation) -> list[object]:
        """What the function is given. Raises IterationError."""
        target = invocation.target
        if target.takes_iterator:
            first: list[object] = [invocation.iterator()]
            scalars = target.scalars(invocation.arguments)
        else:
            first = []
            scalars = target.scalars(invocation.arguments) or tuple(
                invocation.arguments[argument.name] for argument in target.overload._schema.arguments
            )
        last = [] if target.takes_iterator or self.returns else list(invocation.outputs)
        return [*first, *(from_python(each) for each in scalars), *last]

    def run(self, kernels: Kernels, invocation: Invocation) -> tuple[list[Dispatched], tuple[torch.Tensor, ...]]:
        values = self.arguments(invocation)
        result, dispatched = self.text.run(self.function, values, kernels, invocation.force)
        returned = result if isinstance(result, tuple) else () if result is None else (result,)
        if not self.returns and any(
            each is not output for each, output in zip(returned, invocation.outputs, strict=False)
        ):
            raise FaultError("it returns something else than the outputs that it was given")
        if not self.returns or invocation.target.in_place:
            return dispatched, ()
        return dispatched, tuple(each for each in returned if isinstance(each, torch.Tensor))


def implied_host(target: Target, operator: str, host_names: Sequence[str]) -> PlainHost:
    """The stub for a kernel file without one, told from the names it registers.

    Raises HostUnknownError when they are not those of one functor of the target's arity.
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
    if len(scalars) > 1 or any(Dtype.of_metal(each) is None for each in scalars):
        raise HostUnknownError(f"which scalar does {name} take? give the stub too")
    helper = {1: Helper.UNARY, 2: Helper.BINARY, 3: Helper.TERNARY}[len(target.inputs)]
    casts_out = any(re.match(rf"{name}_strided_castout_bool_", each) for each in host_names)
    return PlainHost(Request(helper, name, next(iter(scalars), None), Dtype.BOOL if casts_out else None))
