"""Operands that torch's CPU operator has no answer for, replaced: it raises, dies or runs for ages."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from pipeline.exec_kernel.promotion import common_dtype
from pipeline.numerics.cpu import ReferenceRefusedError, evaluate
from pipeline.numerics.targets import Target

_ASKED = 60
"""So many of the elements are tried alone, to see whether there are any that the operator takes."""

_REPEATED = 8
"""A grid is one whose operands have so many times fewer distinct values than elements."""

_HIGHEST_DEGREE = 64
"""Polynomials take as many steps as their degree, which a special value makes 1e38."""

_STEPS_FROM = {"special_zeta": "other", "polygamma": "self"}
"""The operand from which zeta, which polygamma is made of, steps up by one at a time where it is negative."""

_DIVISORS = tuple(number for number in range(-127, 128) if number not in (-1, 0))


def answerable(target: Target, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with divisors that the CPU can divide by, and degrees of polynomials that it gets done with."""
    if "_polynomial_" in target.operator:
        arguments = {**arguments, "n": _low(arguments["n"])}
    name = _STEPS_FROM.get(target.operator, "")
    if isinstance(arguments.get(name), torch.Tensor):
        arguments = {**arguments, name: _near_zero(arguments[name])}
    return _divisible(target, arguments)


def accepts(target: Target, arguments: dict[str, Any]) -> bool:
    """Whether the CPU operator answers the call, and those answer that it takes arguments from."""
    try:
        evaluate(target, target.refreshed(arguments))
    except (ReferenceRefusedError, RuntimeError, IndexError):
        return False
    return True


class Domain:
    """The elements that an operator takes, as far as they came by in 1-D calls."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._taken: dict[tuple[torch.dtype, ...], dict[str, torch.Tensor]] = {}

    def part(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """A refused call with only such elements as the operator takes; None where none are known.

        A 1-D call loses the others, one of another shape is filled with elements of an earlier one of the same dtypes.
        All tensors must have one shape.
        """
        tensors = {name: arguments[name] for name in self._target.tensors(arguments)}
        if any(not isinstance(each, torch.Tensor) for each in tensors.values()):
            return None
        if len({each.shape for each in tensors.values()}) > 1:
            return None
        dtypes = tuple(each.dtype for each in tensors.values())
        part = _accepted_part(self._target, arguments, tensors)
        if part is not None:
            self._taken[dtypes] = {name: part[name] for name in tensors}
        elif dtypes in self._taken:
            filled = {name: _filled(tensor, self._taken[dtypes][name]) for name, tensor in tensors.items()}
            part = self._target.refreshed({**arguments, **filled})
        return part


def _filled(tensor: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return values[torch.arange(tensor.numel()) % len(values)].reshape(tensor.shape)


def _accepted_part(
    target: Target, arguments: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> dict[str, Any] | None:
    """A call of only those elements that the CPU operator takes, some of which it refuses for their values.

    None where it takes all, or none that was tried, or the operands are not 1-D.
    """
    shape = next(iter(tensors.values())).shape
    if len(shape) != 1 or shape[0] < 2:
        return None

    def chosen(index: torch.Tensor) -> dict[str, Any]:
        return {**arguments, **{name: each[index] for name, each in tensors.items()}}

    def taken(index: torch.Tensor) -> bool:
        return accepts(target, chosen(index))

    def first_taken(among: torch.Tensor) -> torch.Tensor | None:
        return next(filter(taken, among[:: max(1, len(among) // _ASKED)].split(1)), None)

    everything = torch.arange(shape[0])
    one = None if taken(everything) else first_taken(everything)
    if one is None:
        return None
    # Most domains are a range of each operand: then those values are told one by one that are taken beside this one.
    likely = torch.ones(shape[0], dtype=torch.bool)
    for name, tensor in tensors.items():
        likely &= _where_alone(tensor, target, chosen(one), name)
    kept, rest = _halved(everything[likely], taken), everything[~likely]
    if first_taken(rest) is not None:
        kept += _halved(rest, taken)
    return target.refreshed(chosen(torch.cat(kept).sort().values))


def _where_alone(tensor: torch.Tensor, target: Target, beside: dict[str, Any], name: str) -> torch.Tensor:
    """Where a 1-D tensor of a grid has values that are taken in the place `name` of a call of one element."""
    rows = tensor.contiguous().view(torch.uint8).reshape(len(tensor), -1)
    values, which = rows.unique(dim=0, return_inverse=True)
    if len(values) * _REPEATED > len(tensor):
        return torch.ones(len(tensor), dtype=torch.bool)
    taken = [accepts(target, {**beside, name: value.contiguous().view(tensor.dtype)}) for value in values]
    return torch.tensor(taken)[which]


def _halved(index: torch.Tensor, taken: Callable[[torch.Tensor], bool]) -> list[torch.Tensor]:
    """The parts of an index that are taken, found by halving what is not."""
    kept, parts = [], [index]
    while parts:
        part = parts.pop()
        if len(part) and taken(part):
            kept.append(part)
        elif len(part) > 1:
            parts += [part[len(part) // 2 :], part[: len(part) // 2]]
    return kept


def survive(target: Target, calls: Sequence[dict[str, Any]]) -> bool:
    """Whether the CPU operator leaves its process alive, tried in a child: some divide by a size of 0."""
    return _asked_in_child(lambda: bool([accepts(target, arguments) for arguments in calls])) is not None


def refuses(target: Target, arguments: dict[str, Any]) -> bool:
    """Whether the CPU operator says that it refuses the call, tried in a child: some read beyond short operands."""
    return _asked_in_child(lambda: accepts(target, arguments)) is False


def refused_everywhere(target: Target, arguments: dict[str, Any]) -> bool:
    """Whether the operator refuses the call itself, and not for want of a CPU kernel."""
    try:
        evaluate(target, arguments)
    except ReferenceRefusedError as refusal:
        return "not implemented for '" not in str(refusal)  # a dtype
    return False


def _low(degree: Any) -> Any:
    if isinstance(degree, torch.Tensor):
        ordered = not degree.is_complex() and degree.dtype is not torch.bool
        return degree.clamp(max=_HIGHEST_DEGREE) if ordered else degree
    return min(degree, _HIGHEST_DEGREE)


def _near_zero(offset: torch.Tensor) -> torch.Tensor:
    """No more steps than those; from where one more changes nothing they never end."""
    ordered = not offset.is_complex() and offset.dtype is not torch.bool
    return offset.clamp(min=-_HIGHEST_DEGREE) if ordered and offset.dtype is not torch.uint8 else offset


def _divisible(target: Target, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with divisors of 0 made 1, and -1 made 3 where the smallest number by -1 raises SIGFPE.

    The smallest number itself goes where others raise it too. Any would leave the other elements without an answer.
    """
    names = [name for name in target.tensors(arguments) if isinstance(arguments[name], torch.Tensor)]
    if not target.pointwise or len(names) < 2 or any(arguments[name].is_floating_point() for name in names):
        return arguments
    common = common_dtype([arguments[name] for name in names], arguments[names[0]].dtype)
    if common.is_complex or common is torch.bool:
        return arguments
    dividend, *divisors = names
    smallest = torch.iinfo(common).min
    if arguments[dividend].dtype is common and common.is_signed and bool((arguments[dividend] == smallest).any()):
        pinned = tuple((name, value) for name, value in arguments.items() if isinstance(value, (str, int, type(None))))
        by_minus_one = any(bool((arguments[name] == -1).any()) for name in divisors)
        if by_minus_one and _dies(target.overload, common, pinned, (-1,)):
            arguments = _replaced(arguments, divisors, -1, 3)
        if _dies(target.overload, common, pinned, _DIVISORS):
            arguments = _replaced(arguments, [dividend], smallest, smallest + 1)
    try:
        evaluate(target, arguments)
    except ReferenceRefusedError as refusal:
        if "ZeroDivision" in str(refusal):
            return target.refreshed(_replaced(arguments, divisors, 0, 1))
    return target.refreshed(arguments)


def _replaced(arguments: dict[str, Any], names: list[str], old: int, new: int) -> dict[str, Any]:
    changed = {name: arguments[name].masked_fill(arguments[name] == old, new) for name in names}
    return {**arguments, **changed}


@cache
def _dies(
    overload: OpOverload, dtype: torch.dtype, pinned: tuple[tuple[str, Any], ...], divisors: tuple[int, ...]
) -> bool:
    """Whether the CPU operator takes its process down for the smallest number by any of these, tried in a child."""
    others = torch.tensor(divisors, dtype=dtype)
    smallest = torch.full_like(others, torch.iinfo(dtype).min)
    known = dict(pinned)
    given = {argument.name: known.get(argument.name, others) for argument in overload._schema.arguments}
    given[overload._schema.arguments[0].name] = smallest
    return _asked_in_child(lambda: overload(**given) is not None) is None


def _asked_in_child(question: Callable[[], bool]) -> bool | None:
    """The answer of a forked process; no where it raises, None where a signal ends it."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()  # it is expected to die
        answer = False
        try:
            answer = question()
        finally:
            os._exit(int(answer))
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status) == 1
