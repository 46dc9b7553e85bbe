"""A shader library that runs nothing: it notes which kernels a stub asks for, and what it binds for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import Kernels, ShaderLibrary
from pipeline.exec_kernel.launch import MAX_THREADS
from pipeline.exec_kernel.names import Helper, Request, askable
from pipeline.stub_interpreter.iterators import TensorIterator
from pipeline.stub_interpreter.metal import Encoder, Library, Pipeline

_NARROWED = {Dtype.FLOAT64: Dtype.FLOAT32, Dtype.COMPLEX128: Dtype.COMPLEX64}


@dataclass(frozen=True)
class Dispatch:
    """A kernel that the stub dispatches itself: what is bound by index, the grid, the iterator that was bound."""

    name: str
    arguments: dict[int, torch.Tensor | bytes]
    threads: tuple[int, ...]
    iterator: TensorIterator | None


@dataclass(frozen=True)
class Asked:
    """What an exec helper was asked to do, and every name that some layout of these dtypes leads to.

    `scalar` is the encoded alpha or params struct, `inputs` how many tensors the iterator reads.
    """

    request: Request
    names: frozenset[str]
    scalar: bytes | None
    inputs: int
    is_large: bool


@dataclass
class Recorder(Library):
    """`names` are the registered ones."""

    asked: list[Asked] = field(default_factory=list)
    dispatches: list[Dispatch] = field(default_factory=list)
    looked_up: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, names: frozenset[str]) -> Recorder:
        return cls(Kernels(cast(ShaderLibrary, SimpleNamespace()), names))

    def pipeline(self, name: str) -> Pipeline:
        self.looked_up.add(name)
        return Pipeline(name, MAX_THREADS)

    def dispatch(self, encoder: Encoder, threads: Sequence[int], group: Sequence[int]) -> None:
        name = encoder.pipeline.name if encoder.pipeline is not None else ""
        self.dispatches.append(Dispatch(name, dict(encoder.arguments), tuple(threads), encoder.iterator))

    def exec_helper(self, request: Request, scalar: bytes | None, iterator: TensorIterator) -> None:
        view = iterator.view
        inputs = tuple(_read_as(view.operands[index].dtype) for index in range(iterator.outputs, len(view.operands)))
        output = view.operands[0].dtype
        read = inputs[: request.helper.arity]
        possible = len(read) == request.helper.arity and view.numel > 0
        names: frozenset[str] = frozenset()
        if possible and all(each.on_mps for each in (*read, output, view.common)):
            names = askable(request, read, output, view.common, self.kernels.names.__contains__)
        large = request.helper is Helper.TERNARY and not view.can_use_32bit_indexing
        self.asked.append(Asked(request, names, scalar, len(inputs), large))

    @property
    def names(self) -> frozenset[str]:
        """Every name asked for."""
        return frozenset(self.looked_up).union(*(each.names for each in self.asked))


def _read_as(dtype: Dtype) -> Dtype:
    """A number on the CPU's side is a double, which the helpers read as a float."""
    return _NARROWED.get(dtype, dtype)
