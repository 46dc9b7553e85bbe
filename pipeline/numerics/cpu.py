"""Torch's CPU operator, called with a target's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pipeline.numerics.targets import Target


class ReferenceRefusedError(Exception):
    """The CPU operator raised, so there is nothing to compare with."""


def evaluate(target: Target, arguments: dict[str, Any]) -> tuple[torch.Tensor, ...]:
    """Run the CPU operator; a Python number may stand for a tensor. Raises ReferenceRefusedError."""
    schema = target.overload._schema.arguments
    positional = [arguments[each.name] for each in schema if not each.kwarg_only]
    keywords = {each.name: arguments[each.name] for each in schema if each.kwarg_only}
    plain = all(isinstance(arguments[name], torch.Tensor) or arguments[name] is None for name in target.inputs)
    operator: Callable[..., Any] = target.overload if plain else target.overload.overloadpacket
    try:
        result = operator(*positional, **keywords)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as error:
        raise ReferenceRefusedError(str(error).splitlines()[0]) from None
    return result if isinstance(result, tuple) else (result,)


def stored(target: Target, arguments: dict[str, Any], dtype: torch.dtype) -> torch.Tensor | None:
    """What the CPU's `out` variant leaves in an output of this dtype; None where it does not take one."""
    variant = _out_variant(target)
    if variant is None:
        return None
    overload, name = variant
    given = [arguments[each.name] for each in target.overload._schema.arguments if not each.kwarg_only]
    keywords = {each.name: arguments[each.name] for each in target.overload._schema.arguments if each.kwarg_only}
    keywords[name] = output = torch.empty(0, dtype=dtype)
    try:
        overload(*given, **keywords)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return None
    return output


def _out_variant(target: Target) -> tuple[Any, str] | None:
    """The overload with the same arguments and one more, which it writes; and that argument's name."""
    packet = target.overload.overloadpacket
    wanted = {each.name for each in target.overload._schema.arguments}
    for overload_name in packet.overloads():
        overload = getattr(packet, overload_name)
        names = [each.name for each in overload._schema.arguments]
        more = [name for name in names if name not in wanted]
        if wanted < set(names) and len(more) == 1:
            return overload, more[0]
    return None
