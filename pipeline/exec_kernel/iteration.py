"""The geometry of TensorIterator: what shape and strides a kernel sees after broadcasting and coalescing.

Rules from ATen/TensorIterator.cpp and ATen/native/TensorIterator.h. Shapes and strides of an `Iteration` are innermost
first and its strides are in bytes, as `iter.shape()` and `iter.strides(i)` give them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from pipeline.errors import PipelineError
from pipeline.exec_kernel.dtypes import Dtype

INT32_MAX = 2**31 - 1
MAX_DIMS = 16


class IterationError(PipelineError):
    """TensorIterator would refuse these operands."""


@dataclass(frozen=True)
class Operand:
    """One tensor as TensorIterator is given it.

    `sizes` and `strides` are the tensor's own, outermost first, strides in elements. `on_cpu` marks a 0-dim CPU tensor
    or a wrapped number among MPS operands.
    """

    dtype: Dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    on_cpu: bool = False

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.strides):
            raise ValueError("one stride per dimension")
        if self.on_cpu and self.sizes:
            raise IterationError("Passed CPU tensor to MPS op")

    @cached_property
    def numel(self) -> int:
        return prod(self.sizes)

    @cached_property
    def is_contiguous(self) -> bool:
        expected = 1
        for size, stride in zip(reversed(self.sizes), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return self.numel == 0
            expected *= max(size, 1)
        return True


@dataclass(frozen=True)
class Iteration:
    """Outputs first, then inputs. `offsets` are bytes from each tensor's first element (a 32-bit part starts later)."""

    operands: tuple[Operand, ...]
    outputs: int
    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]
    common: Dtype

    @cached_property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return self.operands[self.outputs :]

    @property
    def output(self) -> Operand:
        return self.operands[0]

    @cached_property
    def is_contiguous(self) -> bool:
        """One run of elements, in the same order for every operand; so two equally permuted tensors are contiguous."""
        if self.numel == 1:
            return True
        return self.ndim == 1 and self.has_contiguous_first_dim

    @cached_property
    def has_contiguous_first_dim(self) -> bool:
        return all(stride[0] == operand.dtype.size for stride, operand in zip(self.strides, self.operands, strict=True))

    @cached_property
    def can_use_32bit_indexing(self) -> bool:
        if self.numel > INT32_MAX:
            return False
        return all(
            1 + sum((size - 1) * step for size, step in zip(self.shape, stride, strict=True)) <= INT32_MAX
            for stride in self.strides
        )

    def with_32bit_indexing(self) -> Iterator[Iteration]:
        """Parts that each fit, in the order TensorIterator visits them."""
        if self.can_use_32bit_indexing:
            yield self
            return
        for half in self.split(self.dim_to_split()):
            yield from half.with_32bit_indexing()

    def split(self, dim: int) -> tuple[Iteration, Iteration]:
        """Both halves along a dimension."""
        half = self.shape[dim] // 2
        return self._narrow(dim, 0, half), self._narrow(dim, half, self.shape[dim] - half)

    def dim_to_split(self) -> int:
        """The dimension along which an operand reaches furthest."""
        best, widest = self.ndim - 1, -1
        for dim in reversed(range(self.ndim)):
            if self.shape[dim]:
                extent = max((self.shape[dim] - 1) * abs(stride[dim]) for stride in self.strides)
                if extent > widest:
                    best, widest = dim, extent
        return best

    def _narrow(self, dim: int, start: int, size: int) -> Iteration:
        shape = (*self.shape[:dim], size, *self.shape[dim + 1 :])
        offsets = tuple(offset + start * stride[dim] for offset, stride in zip(self.offsets, self.strides, strict=True))
        part = replace(self, shape=shape, offsets=offsets)
        return _coalesced(part) if size == 1 else part


def iterate(outputs: Sequence[Operand], inputs: Sequence[Operand], common: Dtype) -> Iteration:
    """Build the iteration of these operands; outputs must already have the broadcast shape.

    Raises IterationError where TensorIterator raises: shapes that do not broadcast, an output of another shape.
    """
    operands = (*outputs, *inputs)
    sizes = broadcast_sizes([operand.sizes for operand in inputs] or [operand.sizes for operand in outputs])
    for output in outputs:
        if output.sizes != sizes:
            raise IterationError(f"the output has shape {list(output.sizes)}, the operands broadcast to {list(sizes)}")
    if len(sizes) > MAX_DIMS:
        raise IterationError(f"{len(sizes)} dimensions; kernels take at most {MAX_DIMS}")
    outer_first = [_byte_strides(operand, sizes) for operand in operands]
    order = _order_of_dims(sizes, outer_first)
    shape = tuple(sizes[dim] for dim in order)
    strides = tuple(tuple(stride[dim] for dim in order) for stride in outer_first)
    whole = Iteration(operands, len(outputs), shape, strides, (0,) * len(operands), common)
    if not shape:
        whole = replace(whole, shape=(), strides=((),) * len(operands))
    return _coalesced(whole)


def broadcast_sizes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all broadcast to. Raises IterationError."""
    ndim = max(len(shape) for shape in shapes)
    result = [1] * ndim
    for shape in shapes:
        for dim, size in enumerate(shape, ndim - len(shape)):
            if size == 1 or size == result[dim]:
                continue
            if result[dim] != 1:
                raise IterationError(f"shapes {[list(each) for each in shapes]} do not broadcast")
            result[dim] = size
    return tuple(result)


def _byte_strides(operand: Operand, sizes: tuple[int, ...]) -> tuple[int, ...]:
    lead = len(sizes) - len(operand.sizes)
    strides = [0] * len(sizes)
    for dim, (size, stride) in enumerate(zip(operand.sizes, operand.strides, strict=True), lead):
        strides[dim] = 0 if size == 1 and sizes[dim] != 1 else stride * operand.dtype.size
    return tuple(strides)


def _order_of_dims(sizes: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> list[int]:
    """Dimensions by ascending stride, innermost first: an insertion sort that keeps the order of undecided pairs."""
    order = list(reversed(range(len(sizes))))
    for position in range(1, len(order)):
        dim = position
        for lower in reversed(range(position)):
            decision = _compare(order[lower], order[dim], sizes, strides)
            if decision > 0:
                order[lower], order[dim] = order[dim], order[lower]
                dim = lower
            elif decision < 0:
                break
    return order


def _compare(first: int, second: int, sizes: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> int:
    """Positive where `first` belongs outside `second`, negative where inside, 0 where no operand says."""
    for stride in strides:
        a, b = stride[first], stride[second]
        if a == 0 or b == 0:
            continue
        if a != b:
            return -1 if a < b else 1
        if sizes[first] > sizes[second]:
            return 1
    return 0


def _coalesced(iteration: Iteration) -> Iteration:
    """Merge neighbours that every operand walks in one run."""
    if iteration.ndim <= 1:
        return iteration
    shape = [iteration.shape[0]]
    strides = [[stride[0]] for stride in iteration.strides]
    for dim in range(1, iteration.ndim):
        size = iteration.shape[dim]
        mergeable = (
            shape[-1] == 1
            or size == 1
            or all(shape[-1] * mine[-1] == stride[dim] for mine, stride in zip(strides, iteration.strides, strict=True))
        )
        if mergeable:
            if shape[-1] == 1:
                for mine, stride in zip(strides, iteration.strides, strict=True):
                    mine[-1] = stride[dim]
            shape[-1] *= size
        else:
            shape.append(size)
            for mine, stride in zip(strides, iteration.strides, strict=True):
                mine.append(stride[dim])
    return replace(iteration, shape=tuple(shape), strides=tuple(tuple(stride) for stride in strides))
