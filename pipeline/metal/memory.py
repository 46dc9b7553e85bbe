"""Where the arguments of a launch lie while a kernel runs, and what an address in there belongs to."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from pipeline.metal.arguments import Bound
from pipeline.metal.runtime import Region, Runtime

PADDING = 4096  # bytes around a copy that an instrumented kernel may run into without harm
ISOLATED_UP_TO = 256 * 1024**2  # bytes; larger storages stay where they are
VIEW_UP_TO = 64 * 1024**2  # bytes of a storage for which the elements of a view are told apart
RACES_UP_TO = 4 * 1024**2  # bytes of a storage whose uses are remembered


@dataclass
class _Block:
    """One storage, or the bytes of a constant argument."""

    address: int
    size: int
    arguments: list[int] = field(default_factory=list)
    views: list[torch.Tensor] = field(default_factory=list)
    constant: bool = False
    placed: int = 0
    mask: torch.Tensor | None = None


@dataclass(frozen=True)
class Place:
    """What an address belongs to: `target` is a phrase, `offset` in bytes from the start of the bound tensor."""

    target: str
    offset: int
    arguments: tuple[int, ...]


class Memory:
    """The memory of one launch.

    In place, tensors are used where they are. Isolated, the kernel works on copies that stand apart, each before a page
    that faults when it is touched; they are written back afterwards.
    """

    def __init__(self, runtime: Runtime, bound: Sequence[Bound], *, isolate: bool, checked: bool) -> None:
        self._runtime = runtime
        self._bound = bound
        self._isolate = isolate
        self._checked = checked
        self._blocks = self._collect()
        for index, block in enumerate(self._blocks):
            if not block.constant:
                self._place(index, block)
        for item in bound:
            if item.pointers is not None:
                item.pointers[:] = [self._moved(tensor) for tensor in item.tensors]
        for index, block in enumerate(self._blocks):
            if block.constant:
                self._place(index, block)
        self.addresses = [self._address(item) for item in bound]

    def _collect(self) -> list[_Block]:
        blocks: dict[int, _Block] = {}
        for index, item in enumerate(self._bound):
            if item.size:
                block = blocks[item.address] = _Block(item.address, item.size, [index], constant=True)
            for tensor in item.tensors:
                storage = tensor.untyped_storage()
                block = blocks.setdefault(storage.data_ptr(), _Block(storage.data_ptr(), storage.nbytes()))
                block.views.append(tensor)
                if index not in block.arguments:
                    block.arguments.append(index)
        return list(blocks.values())

    def _place(self, index: int, block: _Block) -> None:
        block.placed = block.address
        if self._isolate and block.size <= ISOLATED_UP_TO:
            block.placed = self._runtime.place(index, block.size, PADDING if self._checked else 0)
            ctypes.memmove(block.placed, block.address, block.size)
        if self._checked and block.views and block.size <= VIEW_UP_TO:
            block.mask = _mask(block)

    def _address(self, item: Bound) -> int:
        if item.tensors and item.pointers is None:
            return self._moved(item.tensors[0])
        return next((block.placed for block in self._blocks if block.address == item.address), 0)

    def _moved(self, tensor: torch.Tensor) -> int:
        start = tensor.untyped_storage().data_ptr()
        block = next(block for block in self._blocks if block.address == start)
        return block.placed + tensor.data_ptr() - start

    def regions(self) -> ctypes.Array[Region]:
        """What an instrumented kernel may use."""
        regions = (Region * len(self._blocks))()
        for index, block in enumerate(self._blocks):
            padding = PADDING if block.placed != block.address else 0
            end = block.placed + block.size
            mask = block.mask.data_ptr() if block.mask is not None else None
            granule = min(map(_granule, block.views), default=0)
            watched = not block.constant and block.size <= RACES_UP_TO
            cells = self._runtime.cells(index, (block.size >> granule) + 1) if watched else None
            regions[index] = Region(block.placed, end, block.placed - padding, end + padding, mask, cells, granule)
        return regions

    def write_back(self) -> None:
        for block in self._blocks:
            if block.placed != block.address and not block.constant:
                ctypes.memmove(block.address, block.placed, block.size)

    def find(self, address: int) -> Place:
        """What lies at an address, or nearest to it."""
        if not self._blocks:
            return Place("no argument", address, ())
        block = min(self._blocks, key=lambda b: max(b.placed - address, address - b.placed - b.size, 0))
        offset = address - block.placed
        if block.views:
            first = block.views[0]
            offset -= first.data_ptr() - first.untyped_storage().data_ptr()
        names = " and ".join(map(str, block.arguments))
        plural = "s" if len(block.arguments) > 1 else ""
        return Place(f"argument{plural} {names}", offset, tuple(block.arguments))


def _granule(view: torch.Tensor) -> int:
    """log2 of the bytes that threads may use independently of each other: a number, or half of a complex one."""
    size = view.element_size() // (2 if view.is_complex() else 1)
    return min(size.bit_length() - 1, 2)


def _mask(block: _Block) -> torch.Tensor | None:
    """Per byte of a storage, whether a bound view has it; None when the views have all of it.

    Also None where a view is one element of stride 0, which is taken for a place that strides lead anywhere from.
    """
    if any(view.shape == (1,) and view.stride() == (0,) for view in block.views):
        return None
    if any(view.is_contiguous() and view.nbytes == block.size for view in block.views):
        return None
    mask = torch.zeros(block.size, dtype=torch.uint8)
    for view in block.views:
        item = view.element_size()
        strides = (*(stride * item for stride in view.stride()), 1)
        mask.as_strided((*view.shape, item), strides, view.storage_offset() * item).fill_(1)
    return mask
