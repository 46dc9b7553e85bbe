"""at::TensorIterator as a stub sees it, and TensorIteratorConfig."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import iteration_of
from pipeline.exec_kernel.iteration import Iteration, broadcast_sizes
from pipeline.exec_kernel.promotion import common_dtype
from pipeline.stub_interpreter.errors import CheckFailedError, NotUnderstoodError
from pipeline.stub_interpreter.numbers import Number
from pipeline.stub_interpreter.values import Array, longs


@dataclass
class TensorIterator:
    """The tensors of an iterator, outputs first, and its geometry.

    `cpu_scalars` are positions among the inputs. `view` is the whole iteration or one of its 32-bit parts.
    """

    tensors: tuple[torch.Tensor, ...]
    outputs: int
    cpu_scalars: frozenset[int]
    view: Iteration

    @classmethod
    def over(
        cls,
        outputs: Sequence[torch.Tensor],
        inputs: Sequence[torch.Tensor],
        common: torch.dtype,
        cpu_scalars: frozenset[int] = frozenset(),
    ) -> TensorIterator:
        """Raises IterationError where TensorIterator would."""
        view = iteration_of(outputs, inputs, common, cpu_scalars)
        return cls((*outputs, *inputs), len(outputs), cpu_scalars, view)

    def flipped(self) -> TensorIterator:
        """As aten::flip leaves it: the output is walked backwards where the second input alone has stride 0."""
        view = self.view
        output, source, dummy = view.strides
        backwards = [a != 0 and b == 0 for a, b in zip(source, dummy, strict=True)]
        strides = tuple(-step if back else step for step, back in zip(output, backwards, strict=True))
        start = sum(step * (size - 1) for step, size, back in zip(output, view.shape, backwards, strict=True) if back)
        turned = replace(view, strides=(strides, source, dummy), offsets=(start, *view.offsets[1:]))
        return replace(self, view=turned)

    def parts(self) -> Iterator[TensorIterator]:
        for view in self.view.with_32bit_indexing():
            yield TensorIterator(self.tensors, self.outputs, self.cpu_scalars, view)

    def split(self, dim: int) -> TensorIterator:
        """Returns the first half along a dimension and keeps the second, as at::TensorIterator::split does."""
        first, self.view = self.view.split(dim)
        return replace(self, view=first)

    def dtype(self, index: int) -> Dtype:
        return self.view.operands[index].dtype

    def call(self, name: str, arguments: Sequence[object]) -> object:
        """A member function that takes numbers alone. Raises NotUnderstoodError for others."""
        at = int(arguments[0]) if arguments and isinstance(arguments[0], Number) else 0
        match name:
            case "numel":
                return Number(self.view.numel, "int64_t")
            case "ndim":
                return Number(self.view.ndim, "int")
            case "shape":
                return longs(self.view.shape)
            case "strides":
                return longs(self.view.strides[at])
            case "is_contiguous":
                return Number(self.view.is_contiguous, "bool")
            case "can_use_32bit_indexing":
                return Number(self.view.can_use_32bit_indexing, "bool")
            case "with_32bit_indexing":
                return Array(list(self.parts()))
            case "get_dim_to_split":
                return Number(self.view.dim_to_split(), "int")
            case "split":
                return self.split(at)
            case "common_dtype":
                return self.view.common
            case "dtype":
                return self.dtype(at)
            case "input_dtype":
                return self.dtype(self.outputs + at)
            case "element_size":
                return Number(self.dtype(at).size, "int64_t")
            case "ntensors":
                return Number(len(self.tensors), "int")
            case "noutputs":
                return Number(self.outputs, "int")
            case "ninputs":
                return Number(len(self.tensors) - self.outputs, "int")
            case "output":
                return self.tensors[at]
            case "input":
                return self.tensors[self.outputs + at]
            case "tensor" | "tensor_base":
                return self.tensors[at]
            case "is_cpu_scalar":
                return Number(at - self.outputs in self.cpu_scalars, "bool")
            case "is_scalar":
                return Number(self.tensors[at].numel() == 1, "bool")
        raise NotUnderstoodError(f"TensorIterator::{name}")


@dataclass
class IteratorConfig:
    """TensorIteratorConfig: collects operands, then builds."""

    outputs: list[torch.Tensor] = field(default_factory=list)
    inputs: list[torch.Tensor] = field(default_factory=list)
    promotes: bool = False
    same_dtype: bool = True
    resizes: bool = True

    def call(self, name: str, arguments: Sequence[object]) -> object:
        """A member function; all but `build` return the config. Raises NotUnderstoodError."""
        first = arguments[0] if arguments else None
        flag = bool(first) if isinstance(first, Number) else True
        if name == "build":
            return self.build()
        if isinstance(first, torch.Tensor) and name.startswith("add_"):
            (self.outputs if name.endswith("output") else self.inputs).append(first)
        elif name == "promote_inputs_to_common_dtype":
            self.promotes, self.same_dtype = flag, self.same_dtype and not flag
        elif name == "check_all_same_dtype":
            self.same_dtype = flag
        elif name == "resize_outputs":
            self.resizes = flag
        elif name not in (
            "set_check_mem_overlap",
            "allow_cpu_scalars",
            "cast_common_dtype_to_outputs",
            "enforce_safe_casting_to_output",
            "promote_integer_inputs_to_float",
            "is_reduction",
        ):
            raise NotUnderstoodError(f"TensorIteratorConfig::{name}")
        return self

    def build(self) -> TensorIterator:
        tensors = [*self.outputs, *self.inputs]
        if self.same_dtype and len({each.dtype for each in tensors}) > 1:
            raise CheckFailedError("expected all operands to have the same dtype")
        if self.inputs and self.resizes:
            shape = broadcast_sizes([tuple(each.shape) for each in self.inputs])
            for output in self.outputs:
                if tuple(output.shape) != shape:
                    output.resize_(shape)
        natural = self.outputs[0].dtype if self.outputs else self.inputs[0].dtype
        common = common_dtype(self.inputs or self.outputs, natural)
        return TensorIterator.over(self.outputs, self.inputs, common)
