"""Calls that the host code refuses though the CPU answers them."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pipeline.errors import PipelineError
from pipeline.exec_kernel.launch import HostRefusal
from pipeline.numerics.cpu import ReferenceRefusedError, evaluate
from pipeline.numerics.failure import Failure, Run
from pipeline.numerics.host import Invocation

_Dtypes = tuple[tuple[str, torch.dtype], ...]


class Refusals:
    """A host may refuse dtypes, but neither some of the calls in dtypes that it takes in others nor an operand."""

    def __init__(self) -> None:
        self._taken: set[_Dtypes] = set()
        self._refused: dict[_Dtypes, Failure] = {}

    def taken(self, run: Run) -> None:
        self._taken.add(_dtypes(run))

    def refused(self, run: Run, invocation: Invocation, natural: torch.dtype, refusal: PipelineError) -> None:
        """Note a refusal: not one of an exec helper, another output dtype, operands beyond 32 bits, or the CPU."""
        if isinstance(refusal, HostRefusal) or run.layout.vast or invocation.outputs[0].dtype != natural:
            return
        try:
            evaluate(invocation.target, invocation.arguments)
        except ReferenceRefusedError:
            return
        self._refused.setdefault(_dtypes(run), Failure("numerics/refuses", f"refused: {refusal.message}", run))

    def failures(self) -> Iterator[Failure]:
        """The first call of each dtypes that was refused though others of its kind were taken."""
        names = {name for taken in self._taken for name, _ in taken}
        for refused, failure in self._refused.items():
            if refused in self._taken or (names and not {name for name, _ in refused} <= names):
                yield failure


def _dtypes(run: Run) -> _Dtypes:
    return tuple((name, each.dtype) for name, each in run.inputs.items())
