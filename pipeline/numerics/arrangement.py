"""Which layouts a case is tried in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch

from pipeline.exec_kernel.launch import Force
from pipeline.numerics import layouts
from pipeline.numerics.builds import Builds
from pipeline.numerics.cases import Case
from pipeline.numerics.layouts import Layout
from pipeline.numerics.reference import Expected
from pipeline.numerics.targets import Target

_WATCHED = 2500
"""Elements up to which kernels are watched, which takes a hundred times as long."""


def arrangements(
    target: Target,
    case: Case,
    tensors: Sequence[torch.Tensor],
    answers: Sequence[Expected],
    builds: Builds,
    *,
    asks_with_params: bool,
    spreads: Callable[[], bool],
    resizes: bool,
) -> Iterator[Layout]:
    """Every layout that a case of these `tensors` is tried in.

    A host that `asks_with_params` never asks for some of the registered flavours, which are tried all the same.
    `spreads` is asked whether offsets beyond 32 bits are worth trying. A host that `resizes` has no shared part of ATen
    before it that gives outputs their shape.
    """
    arity = len(tensors)
    every = [Force(every_flavour=True)] if arity == 2 and asks_with_params else []
    small = sum(each.numel() for each in tensors) <= _WATCHED
    if builds.watched is not None and not case.thorough and small:
        yield from layouts.watched(arity, plain_only=case.plain_only)
    if case.plain_only:
        for force in (None, *every):
            yield Layout(("dense",) * arity, "dense", force)
    elif case.thorough:
        yield from layouts.whole(arity, builds.flushing is not None)
        for force in every:
            for word in ("dense", "stepped"):
                yield Layout((word,) * arity, "dense", force)
    else:
        first, result = tensors[0], answers[0]
        alike = all(each.shape == result.shape for each in tensors) and len(answers) == 1
        in_place = alike and first.dtype == result.dtype and target.takes_iterator and target.pointwise
        yield from layouts.small(arity, in_place)
        if resizes:
            yield Layout(("dense",) * arity, layouts.RESIZED)
        if target.sees_conjugates and all(each.is_complex() for each in tensors):
            yield from layouts.conjugated(arity)
        if builds.watched is not None and spreads():
            yield from layouts.vast(arity)
