"""The same values laid out in memory in every way that makes a host choose another kernel or other strides.

A tensor is always a view into a larger buffer filled with poison, so a read beside it shows in the result and a write
beside it shows in the buffer.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from pipeline.exec_kernel.launch import Force

_PAD = 9  # Elements before and after at least; odd, so that one-byte dtypes start off a 4-byte boundary.
_STRETCH = 6  # A step of 2 times a step of 3: the most that a layout stretches a tensor.
_ROW_APART = (1 << 31) + 7  # elements
_UNRESERVED = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (0x4000 if sys.platform == "linux" else 0)  # MAP_NORESERVE
POISON = 0xA5
RESIZED = "to be resized"


@dataclass(frozen=True)
class Placed:
    """A view and the whole buffer it lies in; a `vast` one is too large to be looked at as a whole."""

    view: torch.Tensor
    buffer: torch.Tensor
    vast: bool = False

    def kept(self) -> torch.Tensor:
        """A copy of the buffer's bits, to compare with later; of a vast one nothing."""
        return _bits(self.buffer[:0] if self.vast else self.buffer).clone()

    def is_unchanged(self, kept: torch.Tensor) -> bool:
        """Whether all of the buffer is as it was."""
        return self.vast or torch.equal(_bits(self.buffer), kept)

    def is_unchanged_outside(self, kept: torch.Tensor) -> bool:
        """Whether what the view does not cover is as it was."""
        if self.vast:
            return True
        restored = _bits(self.buffer).clone()
        place = (self.view.shape, self.view.stride(), self.view.storage_offset())
        restored.as_strided(*place).copy_(kept.as_strided(*place))
        return torch.equal(restored, kept)


class Bystanders:
    """What a run must leave as it is: operands, and what lies beside the outputs."""

    def __init__(self, operands: Mapping[str, Placed], outputs: Sequence[Placed]) -> None:
        self._operands = [(name, each, each.kept()) for name, each in operands.items()]
        self._outputs = [(each, each.kept()) for each in outputs]

    def hit(self) -> Iterator[str]:
        """A sentence for each thing that changed."""
        if not all(output.is_unchanged_outside(kept) for output, kept in self._outputs):
            yield "wrote outside the output"
        for name, operand, kept in self._operands:
            if not operand.is_unchanged(kept):
                yield f"wrote into {name}"


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """As integers: a copy of a bool tensor makes 1 of other bytes, and NaN is not equal to itself.

    complex128, which MPS does not have, stays.
    """
    of_size = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.view(of_size.get(tensor.element_size(), tensor.dtype))


def place(values: torch.Tensor, layout: str, spacious: bool = False) -> Placed:
    """Copy `values` into a poisoned buffer.

    "dense", "stepped" (gaps in every dimension), "transposed", "expanded" (stride 0 in the first dimension, the values
    of the first row), "vast" (the rows more than 2**31 elements apart), or "conjugated" (dense, and a lazy conjugate).
    """
    if layout == "conjugated":
        stored = place(values.conj().resolve_conj(), "dense", spacious)
        return Placed(stored.view.conj(), stored.buffer)
    empty = place_output(values.shape, values.dtype, layout, spacious)
    if layout == "expanded":
        empty.view[:1].copy_(values[:1])
        return Placed(empty.view[:1].expand(values.shape), empty.buffer)
    empty.view.copy_(values)
    return empty


def place_output(
    shape: torch.Size | tuple[int, ...], dtype: torch.dtype, layout: str, spacious: bool = False
) -> Placed:
    """Poison of the given shape and layout; `spacious` when another operand lies wider than this one.

    Then strides taken from that operand still end within the buffer. One that is "to be resized" has no elements yet.
    """
    if layout == "vast":
        return _vast(tuple(shape), dtype)
    if layout == RESIZED:
        buffer = poisoned(torch.Size(shape).numel() + 2 * _PAD, dtype)
        return Placed(buffer[_PAD:_PAD], buffer)
    steps = [2 if layout == "stepped" else 1 for _ in shape]
    if layout == "stepped" and len(shape) > 1:
        steps[-1] = 3
    order = list(reversed(range(len(shape)))) if layout != "transposed" else list(range(len(shape)))
    strides, extent = [0] * len(shape), 1
    for dim in order:
        strides[dim] = extent * steps[dim]
        extent *= max(shape[dim], 1) * steps[dim]
    pad = _PAD + 2 * torch.Size(shape).numel() * (_STRETCH if spacious else 1)
    buffer = poisoned(extent + 2 * pad, dtype)
    return Placed(buffer.as_strided(tuple(shape), strides, pad), buffer)


def _vast(shape: tuple[int, ...], dtype: torch.dtype) -> Placed:
    """Rows so far apart that an offset of 32 bits ends at another place of the same memory.

    Only pages that are touched exist. The offsets of the third row, in elements, need 33 bits.
    """
    strides, extent = [0] * len(shape), 1
    for dim in reversed(range(len(shape))):
        strides[dim] = extent if dim else max(extent, _ROW_APART)
        extent = shape[dim] * strides[dim]
    lead = (1 << 32) // dtype.itemsize
    memory = mmap.mmap(-1, (extent + 2 * lead) * dtype.itemsize, flags=_UNRESERVED)
    buffer = torch.frombuffer(memory, dtype=dtype)
    return Placed(buffer.as_strided(shape, strides, lead), buffer, vast=True)


def poisoned(numel: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.full((numel * dtype.itemsize,), POISON, dtype=torch.uint8).view(dtype)


def untouched(tensor: torch.Tensor) -> torch.Tensor:
    """Elements of a contiguous tensor that are poison still; of one byte none, since any value may be that byte."""
    if tensor.element_size() == 1:
        return torch.zeros(tensor.shape, dtype=torch.bool)
    raw = tensor.reshape(-1).view(torch.uint8).reshape(-1, tensor.element_size())
    return (raw == POISON).all(-1).reshape(tensor.shape)


@dataclass(frozen=True)
class Layout:
    """How the operands of one run lie: a word per input, one for the output, what is pinned.

    `in_place` means the output is the first input; `flush` runs with subnormal floats as zeros, `watched` with every
    access to memory observed.
    """

    inputs: tuple[str, ...]
    output: str
    force: Force | None = None
    in_place: bool = False
    flush: bool = False
    watched: bool = False

    @property
    def spacious(self) -> bool:
        return "stepped" in (*self.inputs, self.output)

    @property
    def vast(self) -> bool:
        return "vast" in (*self.inputs, self.output)

    def __str__(self) -> str:
        inputs = ", ".join(self.inputs)
        text = f"in place, {inputs}" if self.in_place else f"{inputs} -> {self.output}"
        if self.flush:
            text += ", flushing subnormals"
        if self.watched:
            text += ", watched"
        if self.force is not None and self.force.every_flavour:
            text += ", a flavour the helper does not ask for"
        return f"{text}, ILP" if self.force is not None and self.force.ilp else text


def whole(arity: int, flush: bool) -> Iterator[Layout]:
    """For the large grids: the dense kernels, plain and ILP, and the strided one."""
    yield Layout(("dense",) * arity, "dense")
    yield Layout(("dense",) * arity, "dense", Force(ilp=True))
    yield Layout(("stepped",) * arity, "dense")
    if flush:
        yield Layout(("dense",) * arity, "dense", flush=True)


def watched(arity: int, plain_only: bool) -> Iterator[Layout]:
    """For few elements: the dense and the strided kernels with every access observed."""
    yield Layout(("dense",) * arity, "dense", watched=True)
    if not plain_only:
        yield Layout(("dense",) * arity, "dense", Force(ilp=True), watched=True)
        yield Layout(("stepped",) * arity, "stepped", watched=True)


def vast(arity: int) -> Iterator[Layout]:
    """For few elements of at least two dimensions: offsets beyond 2**31 and 2**32, in each operand and in all."""
    dense = ("dense",) * arity
    yield Layout(dense, "vast")
    if arity > 1:
        for position in range(arity):
            yield Layout((*dense[:position], "vast", *dense[position + 1 :]), "dense")
    yield Layout(("vast",) * arity, "dense")
    yield Layout(("vast",) * arity, "vast")


def conjugated(arity: int) -> Iterator[Layout]:
    """For operators that are given lazy conjugates as they are: in each operand and in all."""
    for position in range(arity if arity > 1 else 0):
        words = ["dense"] * arity
        words[position] = "conjugated"
        yield Layout(tuple(words), "dense")
    yield Layout(("conjugated",) * arity, "dense")


def castout(arity: int, *, several: bool, watched: bool) -> Iterator[Layout]:
    """For an output of another dtype than the natural one; `several` dimensions lie in more ways than one."""
    dense, stepped, turned = (("dense",) * arity, ("stepped",) * arity, ("transposed",) * arity)
    yield Layout(dense, "dense")
    yield Layout(dense, "dense", Force(ilp=True))
    yield Layout(stepped, "dense")
    yield Layout(stepped, "dense", Force(inner_contiguous=True))
    if several:
        yield Layout(dense, "stepped")
        yield Layout(turned, "dense")
        yield Layout((*dense[:-1], "transposed"), "stepped")
        if watched:
            yield Layout(stepped, "stepped", watched=True)


def small(arity: int, in_place: bool) -> Iterator[Layout]:
    """For few elements of at least two dimensions: every other arrangement."""
    dense = ("dense",) * arity
    yield Layout(dense, "stepped")
    yield Layout(("stepped",) * arity, "stepped")
    yield Layout(dense, "transposed")
    yield Layout(("transposed",) * arity, "transposed")
    yield Layout(("transposed",) * arity, "transposed", Force(ilp=True))
    yield Layout(("expanded",) * arity, "dense")
    yield Layout(("stepped",) * arity, "dense", Force(inner_contiguous=True))
    for position in range(arity):
        for odd in ("stepped", "transposed", "expanded"):
            yield Layout((*dense[:position], odd, *dense[position + 1 :]), "dense")
    if in_place:
        yield Layout(dense, "dense", in_place=True)
        yield Layout(dense, "dense", Force(ilp=True), in_place=True)
        yield Layout(("stepped", *dense[1:]), "stepped", in_place=True)
        yield Layout(("transposed", *dense[1:]), "transposed", in_place=True)
