"""Calls that the host code refuses though the CPU answers them."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pipeline.numerics.failure import Failure, Run

_Dtypes = tuple[tuple[str, torch.dtype], ...]


class Refusals:
    """A host may refuse dtypes, but not some of the calls in dtypes that it takes in others."""

    def __init__(self) -> None:
        self._taken: set[_Dtypes] = set()
        self._refused: dict[_Dtypes, Failure] = {}

    def taken(self, run: Run) -> None:
        self._taken.add(_dtypes(run))

    def refused(self, run: Run, message: str) -> None:
        self._refused.setdefault(_dtypes(run), Failure("numerics/refuses", f"refused: {message}", run))

    def failures(self) -> Iterator[Failure]:
        """The first refused call of all dtypes in which other calls were taken."""
        return (failure for dtypes, failure in self._refused.items() if dtypes in self._taken)


def _dtypes(run: Run) -> _Dtypes:
    return tuple((name, each.dtype) for name, each in run.inputs.items())
