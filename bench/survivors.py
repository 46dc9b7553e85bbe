"""What becomes of a kernel's results when a mutant passes its check: nothing, other last digits, or more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from pipeline.metal import Compilation
from pipeline.metal.build import Shader, build
from pipeline.metal.cache import Cache, default_folder
from pipeline.numerics import examine
from pipeline.numerics.check import run
from pipeline.numerics.failure import Run
from pipeline.numerics.job import Job
from pipeline.numerics.session import Session

_INCLUDE = (Path(torch.__file__).parent / "include",)
_LAST_DIGITS = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 4e-2}
_PARTS = {torch.complex64: torch.float32, torch.complex32: torch.float16}


@dataclass(frozen=True)
class Change:
    """How much a mutant changes what the check computes.

    `runs` differ in a bit, NaN apart; `last_digits` tells that they differ in nothing else, `example` shows one.
    """

    runs: int
    last_digits: bool
    example: str

    def __str__(self) -> str:
        if self.runs == 0:
            return "no result differs"
        return f"{'last digits' if self.last_digits else 'differs'} in {self.runs} runs, {self.example}"


def same_code(original: str, mutant: str) -> bool:
    """Whether the compiler makes the same machine code of both."""
    first, second = (
        build(Shader(text), _INCLUDE, None, [Compilation()], Cache(default_folder()))[0].parts
        for text in (original, mutant)
    )
    return [each.read_bytes() for each in first] == [each.read_bytes() for each in second]


def change(original: Job, mutant: Job) -> Change:
    """Compare what both compute in the check of the original."""
    numbers = examine.literals(original.kernel)
    with mock.patch.object(examine, "literals", lambda source: numbers):
        before, after = _results(original), _results(mutant)
    differing, last_digits, example = 0, True, ""
    for (one, first), (other, second) in zip(before, after, strict=False):
        assert one.case.label == other.case.label
        for ours, theirs in zip(first, second, strict=True):
            unlike = _unlike(ours, theirs)
            if bool(unlike.any()):
                differing += 1
                coarse = unlike & ~_close(ours, theirs)
                if last_digits and bool(coarse.any()):
                    last_digits, example = False, ""
                example = example or _example(one, ours, theirs, coarse if bool(coarse.any()) else unlike)
    return Change(differing, last_digits, example)


def _results(job: Job) -> list[tuple[Run, tuple[torch.Tensor, ...]]]:
    with _kept() as found:
        run(job)
    return found


@contextmanager
def _kept() -> Iterator[list[tuple[Run, tuple[torch.Tensor, ...]]]]:
    """All runs of the check and copies of their results; those it watches run in other orders of threads."""
    found: list[tuple[Run, tuple[torch.Tensor, ...]]] = []
    execute = Session.execute

    def keeping(session: Session, *args: Any, **kwargs: Any) -> Run | None:
        done = execute(session, *args, **kwargs)
        if done is not None and not done.layout.watched:
            found.append((done, tuple(each.clone() for each in done.outputs)))
        return done

    with mock.patch.object(Session, "execute", keeping):
        yield found


def _unlike(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """Parts of elements that differ in a bit, if not both are NaN."""
    ours, theirs = _parts(ours), _parts(theirs)
    if not ours.is_floating_point():
        return ours != theirs
    same = (ours == theirs) & (torch.signbit(ours) == torch.signbit(theirs))
    return ~(same | (torch.isnan(ours) & torch.isnan(theirs)))


def _close(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    ours, theirs = _parts(ours), _parts(theirs)
    tolerance = _LAST_DIGITS.get(ours.dtype)
    if tolerance is None:
        return torch.zeros(ours.shape, dtype=torch.bool)
    return torch.isclose(ours.double(), theirs.double(), rtol=tolerance, atol=0) & (ours != 0) & (theirs != 0)


def _parts(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype in _PARTS:
        return torch.view_as_real(tensor).movedim(-1, 0)
    return tensor.unsqueeze(0)


def _example(run: Run, ours: torch.Tensor, theirs: torch.Tensor, unlike: torch.Tensor) -> str:
    index = int(unlike.any(0).reshape(-1).nonzero()[0])
    operands = [
        f"{name}={each.expand(ours.shape).reshape(-1)[index].item()}"
        for name, each in run.inputs.items()
        if each.dim() == 0 or each.shape == ours.shape
    ]
    values = (each.reshape(-1)[index].item() for each in (ours, theirs))
    return f"{str(ours.dtype).removeprefix('torch.')}: {' -> '.join(map(str, values))} of {', '.join(operands)}"
