"""What is checked, and how ATen calls it: a dispatch stub, or a function that a dispatch row names for MPS.

A stub is given an iterator and the scalars; a function is given the operator's own arguments. This is the part of ATen
between the dispatcher and the host code that CPU, CUDA and MPS share. By default the tensors go into the iterator in
the schema's order and the other arguments follow in theirs; `conventions` lists where ATen does otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._ops import OpOverload

from pipeline.errors import PipelineError

Arguments = Mapping[str, Any]
Operands = tuple[Sequence[torch.Tensor], Sequence[Any]]


class UnknownOperatorError(PipelineError):
    """torch has no such operator, or nothing is known of how it is called."""


def _any_dtype(dtype: torch.dtype) -> bool:
    return True


@dataclass(frozen=True)
class Target:
    """One stub or function, and the operator whose CPU kernel is the reference.

    `overload` is the functional overload. `inputs` are the schema's names of the operands: in the iterator's order for
    a stub, and required tensors for a function. `scalars` makes a stub's further arguments. `fixed` pins arguments that
    the stub implies (a rounding mode) or that are handled after it (a reduction); `derived` computes an argument from
    the others. `operands` rearranges outputs and arguments into those of the iterator. `only` tells which dtypes of the
    first operand reach the stub. A `pointwise` target is tried with values crossed with each other. Operands in `full`
    always have the shape of the result. `results` is how many results count, where the others are the CPU's alone.
    `given` are arguments that are None in calls which go elsewhere. An `in_place` function writes its first argument.
    """

    name: str
    overload: OpOverload
    inputs: tuple[str, ...]
    scalars: Callable[[Arguments], tuple[object, ...]]
    takes_iterator: bool = True
    pointwise: bool = True
    fixed: Arguments = field(default_factory=dict)
    derived: Mapping[str, Callable[[Arguments], Any]] = field(default_factory=dict)
    operands: Callable[[Sequence[torch.Tensor], Arguments], Operands] | None = None
    only: Callable[[torch.dtype], bool] = _any_dtype
    flips: bool = False
    full: tuple[str, ...] = ()
    results: int | None = None
    given: tuple[str, ...] = ()
    in_place: bool = False

    @property
    def operator(self) -> str:
        return str(self.overload.overloadpacket.__name__)

    @property
    def sees_conjugates(self) -> bool:
        """Whether lazy conjugates reach the host code: neither ATen nor what makes the iterator resolves them."""
        resolved = not torch._C._dispatch_has_kernel_for_dispatch_key(self.overload.name(), "Conjugate")
        return not (self.takes_iterator or resolved)

    def serves(self, arguments: Arguments) -> bool:
        """Whether a call with these arguments reaches the target."""
        if any(arguments[name] is None for name in self.given):
            return False
        first = arguments[self.inputs[0]]
        return self.only(first.dtype) if isinstance(first, torch.Tensor) else True

    def bind(self, arguments: Arguments) -> dict[str, Any]:
        """All arguments of the overload: defaults filled in, `fixed` and `derived` applied."""
        bound: dict[str, Any] = {}
        for argument in self.overload._schema.arguments:
            if argument.name in arguments:
                bound[argument.name] = arguments[argument.name]
            elif argument.has_default_value():
                bound[argument.name] = argument.default_value
        bound.update(self.fixed)
        return self.refreshed(bound)

    def holds(self, arguments: Arguments, result: torch.Tensor) -> bool:
        """Whether the first argument of an `in_place` function can hold the result."""
        first = arguments[self.inputs[0]]
        return isinstance(first, torch.Tensor) and first.shape == result.shape and first.dtype == result.dtype

    def refreshed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with the derived ones computed again."""
        return {**arguments, **{name: _computed(compute, arguments) for name, compute in self.derived.items()}}

    def tensors(self, arguments: Arguments) -> tuple[str, ...]:
        """The names of the arguments that are tensors, or stand for one, in the order of `inputs` or the schema."""
        if self.pointwise:
            return tuple(dict.fromkeys(self.inputs))
        return tuple(
            argument.name
            for argument in self.overload._schema.arguments
            if isinstance(arguments.get(argument.name), torch.Tensor)
        )


def _computed(compute: Callable[[Arguments], Any], arguments: Arguments) -> Any:
    """An operand instead where nothing can be computed of operands that the operator refuses too, and says why."""
    try:
        return compute(arguments)
    except (RuntimeError, IndexError):
        return next(each for each in arguments.values() if isinstance(each, torch.Tensor))


def tensor_names(overload: OpOverload) -> tuple[str, ...]:
    """The schema's required tensor arguments."""
    return tuple(argument.name for argument in overload._schema.arguments if str(argument.type) == "Tensor")


def named_arguments(overload: OpOverload, args: Sequence[Any], kwargs: Arguments) -> dict[str, Any]:
    """Positional and keyword arguments by the schema's names, with defaults."""
    named = {}
    for position, argument in enumerate(overload._schema.arguments):
        if position < len(args):
            named[argument.name] = args[position]
        elif argument.name in kwargs:
            named[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            named[argument.name] = argument.default_value
    return named


def in_order(names: Sequence[str]) -> Callable[[Arguments], tuple[object, ...]]:
    return lambda arguments: tuple(arguments[name] for name in names)


def overload_named(name: str) -> OpOverload | None:
    """`packet.overload` of torch.ops.aten."""
    packet, _, overload = name.partition(".")
    found = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
    return found if isinstance(found, OpOverload) else None


def is_in_place(overload: OpOverload) -> bool:
    name = overload.overloadpacket.__name__
    return name.endswith("_") and not name.endswith("__")


def functional(overload: OpOverload) -> OpOverload | None:
    """The overload of the same arguments that returns what this one writes into its `out` or its first."""
    if not is_in_place(overload) and not any(argument.is_out for argument in overload._schema.arguments):
        return overload
    name = overload.overloadpacket.__name__
    packet = getattr(torch.ops.aten, name.removesuffix("_") if is_in_place(overload) else name, None)
    others = [] if packet is None else [getattr(packet, each) for each in packet.overloads()]
    wanted = [(each.name, str(each.type)) for each in overload._schema.arguments if not each.is_out]
    return next(
        (other for other in others if [(each.name, str(each.type)) for each in other._schema.arguments] == wanted), None
    )


def tensor_overload(base: str) -> OpOverload | None:
    """The functional overload of an operator whose operands are all tensors."""
    for packet_name in (base, f"special_{base}", f"_{base}"):
        packet = getattr(torch.ops.aten, packet_name, None)
        if packet is None:
            continue
        for name in ("Tensor", "self", "Tensor_Tensor", "default"):
            if name in packet.overloads():
                found = getattr(packet, name)
                assert isinstance(found, OpOverload)
                return found
    return None
