"""The scalar arguments that a target is tried with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipeline.numerics.targets import Target

_MOST = 6
_OTHERS = (0.0, -0.75, 2.5)
_FACTORS = ("alpha", "value")
_FALLBACK = {"float": (0.5, 0.5), "int": (1, 2), "bool": (False, True)}
_BOUNDS = ((2, 0.5), (3, 1.5))
"""An integer, which leaves integral operands what they are, and a float: for the first number, and for others."""


def scalar_sets(target: Target, seen: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sets of the schema's arguments that are no tensors: the defaults first, then distinct ones of calls `seen`."""
    names = _names(target)
    if not names:
        return [{}]
    found: dict[str, dict[str, Any]] = {}
    for arguments in (_defaults(target), *seen):
        chosen = {name: arguments[name] for name in names if name in arguments}
        if len(chosen) == len(names) and all(chosen[name] is not None for name in target.given):
            found.setdefault(repr(chosen), chosen)
    sets = list(found.values()) or _fallback(target, names)
    return sets[:1] + _spread(sets[1:], _MOST - 1)


def variations(target: Target, base: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`base` with one number changed to zero, a negative one, another, or infinity for a plain factor."""
    for argument in target.overload._schema.arguments:
        if argument.name in base and str(argument.type) in ("number", "float", "Optional[float]", "Optional[number]"):
            for other in (*_OTHERS, *((math.inf,) if argument.name in _FACTORS else ())):
                yield {**base, argument.name: other}


def boundaries(sets: Sequence[dict[str, Any]]) -> list[float]:
    """Numbers at which operands may be treated differently: the scalars, their negatives, and one minus them."""
    numbers = {float(value) for chosen in sets for value in chosen.values() if _is_number(value)}
    return sorted(around for number in numbers for around in {number, -number, 1 - number} if math.isfinite(around))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _names(target: Target) -> list[str]:
    return [
        argument.name
        for argument in target.overload._schema.arguments
        if str(argument.type) not in ("Tensor", "Optional[Tensor]")
        and argument.name not in target.fixed
        and argument.name not in target.derived
    ]


def _defaults(target: Target) -> dict[str, Any]:
    return {each.name: each.default_value for each in target.overload._schema.arguments if each.has_default_value()}


def _fallback(target: Target, names: Sequence[str]) -> list[dict[str, Any]]:
    kinds = {each.name: str(each.type) for each in target.overload._schema.arguments}
    kinds.update((name, kinds[name].removeprefix("Optional[").removesuffix("]")) for name in target.given)
    numbers = [name for name in names if kinds[name] == "number"]
    values = {name: _FALLBACK.get(kinds[name], (None, None)) for name in names}
    values.update({name: _BOUNDS[position > 0] for position, name in enumerate(numbers)})
    both = [{name: each[index] for name, each in values.items()} for index in (0, 1)]
    return both if both[0] != both[1] else both[:1]


def _spread(items: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    if len(items) <= count:
        return items
    step = len(items) / count
    return [items[int(index * step)] for index in range(count)]
