"""Operands that torch's CPU operator has no answer for, replaced: it raises, dies or runs for ages."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from pipeline.exec_kernel.promotion import common_dtype
from pipeline.numerics.cpu import ReferenceRefusedError, evaluate
from pipeline.numerics.targets import Target

_ASKED = 60
"""So many of the elements are tried alone, to see whether there are any that the operator takes."""

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
    except (ReferenceRefusedError, RuntimeError):
        return False
    return True


def accepted_part(target: Target, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """A call of only those elements that the CPU operator takes, some of which it refuses for their values.

    None where it takes all, or none that was tried, or the operands are not 1-D and of one length.
    """
    tensors = {name: arguments[name] for name in target.tensors(arguments)}
    lengths = {each.shape if isinstance(each, torch.Tensor) else None for each in tensors.values()}
    shape = lengths.pop()
    if lengths or shape is None or len(shape) != 1 or shape[0] < 2:
        return None

    def chosen(index: torch.Tensor) -> dict[str, Any]:
        return {**arguments, **{name: each[index] for name, each in tensors.items()}}

    def taken(index: torch.Tensor) -> bool:
        return accepts(target, chosen(index))

    everything = torch.arange(shape[0])
    kept: list[torch.Tensor] = []
    if not taken(everything) and any(map(taken, everything[:: max(1, shape[0] // _ASKED)].split(1))):
        parts = [everything]
        while parts:
            part = parts.pop()
            if taken(part):
                kept.append(part)
            elif len(part) > 1:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
    return target.refreshed(chosen(torch.cat(kept))) if kept else None


def survives(target: Target, arguments: dict[str, Any]) -> bool:
    """Whether the CPU operator leaves its process alive, tried in a child: some divide by a size of 0."""
    return not _died(lambda: evaluate(target, arguments))


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
    return _died(lambda: overload(**given))


def _died(call: Callable[[], object]) -> bool:
    child = os.fork()
    if child == 0:
        faulthandler.disable()  # it is expected to die
        try:
            call()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
