"""Calls at the edges of what OpInfo has: without elements, without dimensions, with one dimension more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from pipeline.numerics.cases import Case, tensors_of
from pipeline.numerics.cpu import ReferenceRefusedError, evaluate
from pipeline.numerics.domain import accepts, refuses, survive
from pipeline.numerics.targets import Target


def edges(target: Target, calls: Sequence[Case]) -> Iterator[Case]:
    """Every such call that the CPU operator answers; it is asked in a child first where nothing is left to count."""
    fewer = [each for call in calls for each in (*_emptied(target, call), *_pointed(target, call))]
    if not survive(target, [case.arguments for case in fewer]):
        fewer = [case for case in fewer if survive(target, [case.arguments])]
    for case in fewer:
        if accepts(target, case.arguments):
            yield replace(case, arguments=target.refreshed(case.arguments))
    for call in calls:
        for case in _raised(target, call):
            if _answers_alike(target, call.arguments, case.arguments):
                yield replace(case, arguments=target.refreshed(case.arguments))


def mistaken(target: Target, call: Case) -> Iterator[Case]:
    """The call with one tensor in another dtype, with one dimension more, or longer, where the CPU refuses it."""
    return (case for case in _mistaken(target, call) if refuses(target, case.arguments))


def _mistaken(target: Target, call: Case) -> Iterator[Case]:
    tensors = tensors_of(target, call)
    for name, tensor in tensors.items() if len(tensors) > 1 else ():
        other = torch.int32 if tensor.dtype is torch.int64 else torch.int64
        yield _changed(call, {name: tensor.to(other)}, f"{name} in another dtype")
        yield _changed(call, {name: tensor.unsqueeze(0)}, f"{name} with one dimension more")
        if tensor.dim():
            yield _changed(call, {name: torch.cat([tensor, tensor])}, f"{name} twice as long")


def _emptied(target: Target, call: Case) -> Iterator[Case]:
    """All dimensions of one size made 0; not where an operand would have to be derived from nothing."""
    if target.derived:
        return
    tensors = tensors_of(target, call)
    for size in sorted({size for each in tensors.values() for size in each.shape if size > 1}):
        empty = {
            name: each.new_empty([0 if length == size else length for length in each.shape])
            for name, each in tensors.items()
        }
        yield _changed(call, empty, f"{size} made 0", plain_only=True)


def _pointed(target: Target, call: Case) -> Iterator[Case]:
    """All tensors made 0-dim; what counts dimensions counts none."""
    tensors = tensors_of(target, call)
    if any(each.numel() == 0 for each in tensors.values()) or all(each.dim() == 0 for each in tensors.values()):
        return
    first = {name: each.reshape(-1)[0].clone() for name, each in tensors.items()}
    dims: dict[str, Any] = {name: 0 if isinstance(value, int) else [] for name, value in _dims(call).items()}
    yield _changed(call, {**first, **dims}, "0-dim", plain_only=True)


def _raised(target: Target, call: Case) -> Iterator[Case]:
    """One tensor with a dimension of size 1 more, or as two rows, which some operators take no notice of.

    Not where a dimension is counted: the CPU may count those of another tensor than the host code does.
    """
    if _dims(call):
        return
    for name, tensor in tensors_of(target, call).items():
        yield _changed(call, {name: tensor.unsqueeze(0)}, f"{name} with one dimension more")
        if tensor.dim() == 1 and tensor.numel() > 2 and tensor.numel() % 2 == 0:
            yield _changed(call, {name: tensor.reshape(2, -1)}, f"{name} as two rows")


def _changed(call: Case, arguments: Mapping[str, Any], label: str, *, plain_only: bool = False) -> Case:
    return Case({**call.arguments, **arguments}, f"{call.label}, {label}", plain_only=plain_only)


def _answers_alike(target: Target, one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether both calls have the same numbers for an answer. Where they do not, the CPU may just not have checked."""
    try:
        answers = [evaluate(target, target.refreshed(each)) for each in (one, other)]
    except (ReferenceRefusedError, RuntimeError, IndexError):
        return False
    pairs = zip(*answers, strict=True)
    return all(torch.equal(_bytes(first), _bytes(second)) for first, second in pairs)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


def _dims(call: Case) -> dict[str, int | list[int]]:
    """The arguments that count dimensions."""
    given = {name: call.arguments.get(name) for name in ("dim", "dims")}
    return {name: value for name, value in given.items() if isinstance(value, (int, list))}
