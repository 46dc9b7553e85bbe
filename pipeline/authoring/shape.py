"""The shape of an operator's code: which pattern its kernel follows, and the names and types that stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from pipeline.authoring.dtypes import Registration
from pipeline.authoring.functions import Function, Parameter
from pipeline.dispatch_stubs import Stub
from pipeline.exec_kernel.dtypes import Dtype

NUMBER = re.compile(r"(?:const )?(?:std::optional<)?(?:c10::)?(Scalar|double|float|int64_t|int|SymInt)\b[&>]*")
CONDITIONS = frozenset({"condition", "mask"})
"""Tensors that are bool whatever the others are."""
HELPERS = {1: "unary", 2: "binary", 3: "ternary"}


class Pattern(Enum):
    """How the host code gets its kernel to run; each has a template for the kernel and one for the host."""

    HELPER = "helper"  # one of exec_unary_kernel, exec_binary_kernel, exec_ternary_kernel
    ITERATOR = "iterator"  # the host code drives the iterator itself: what the helpers of torch 2.13 lack
    REDUCTION = "reduction"  # an iterator whose output has strides of zero: one threadgroup for each of its elements
    ROWS = "rows"  # one threadgroup for each row along a dimension
    ELEMENTS = "elements"  # one thread for each element of a dense output


@dataclass(frozen=True)
class Number:
    """A number beside the tensors, `type` as C++ writes it."""

    name: str
    type: str

    @property
    def is_integer(self) -> bool:
        return "int" in self.type

    @property
    def is_scalar(self) -> bool:
        return "Scalar" in self.type

    @property
    def metal(self) -> str:
        """Its type in a params struct where all dtypes compute in float."""
        return "long" if self.is_integer else "float"

    def cast(self, to: str) -> str:
        """As a value of the C++ type `to`."""
        value = f"{self.name}.value_or(0)" if "optional" in self.type else self.name
        return f"{value}.to<{to}>()" if self.is_scalar else f"static_cast<{to}>({value})"

    @property
    def as_scalar(self) -> str:
        if "optional" in self.type:
            return f"Scalar({self.name}.value_or(0))"
        return self.name if self.is_scalar else f"Scalar({self.name})"


@dataclass(frozen=True)
class Shape:
    """What the templates are filled with. `parameters` are the host function's, `inputs` what the kernel reads."""

    pattern: Pattern
    operator: str
    base: str
    function: str
    parameters: tuple[Parameter, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    numbers: tuple[Number, ...]
    registered: tuple[Registration, ...]
    stub: Stub | None
    functions: tuple[Function, ...]

    @property
    def helper(self) -> str:
        """The member of MetalShaderLibrary that the stub calls."""
        return f"exec_{HELPERS[len(self.inputs)]}_kernel{'_with_params' if len(self.numbers) > 1 else ''}"

    @property
    def arity(self) -> str:
        return HELPERS[len(self.inputs)].upper()

    @property
    def params(self) -> str:
        """The name of the struct that several numbers travel in."""
        return "".join(word.capitalize() for word in self.base.split("_")) + "Params"

    @property
    def macro(self) -> str:
        return f"REGISTER_{self.base.upper()}_OP"

    @property
    def only_floats(self) -> bool:
        """Every dtype computes in float."""
        return all(each.opmath is Dtype.FLOAT32 for each in self.registered)

    @property
    def same(self) -> bool:
        """Every result has the operands' dtype."""
        return all(each.result is each.source for each in self.registered)

    @property
    def returns_bool(self) -> bool:
        return bool(self.registered) and all(each.result is Dtype.BOOL for each in self.registered)

    @property
    def conditions(self) -> frozenset[str]:
        """The inputs that are bool whatever the others are."""
        return frozenset(self.inputs) & CONDITIONS

    @property
    def casts(self) -> bool:
        """A kernel for operands of different dtypes stores one result of the common dtype; a uint4 holds all dtypes."""
        return len(self.outputs) == 1 and 0 < len(self.inputs) < 4 and self.same and not self.conditions

    @property
    def dim(self) -> str | None:
        return next(
            (each.name for each in self._all_parameters() if (each.type, each.name) == ("int64_t", "dim")), None
        )

    def _all_parameters(self) -> Iterator[Parameter]:
        yield from self.parameters
        for function in self.functions:
            yield from function.parameters
