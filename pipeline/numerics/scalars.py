"""The scalar arguments that a target is tried with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipeline.numerics.targets import Target

_MOST = 6
_OTHERS = (0.0, -0.75, 2.5)
_FACTORS = ("alpha", "value")
_FALLBACK = {"number": 0.5, "float": 0.5, "int": 1, "bool": False}


def scalar_sets(target: Target, seen: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sets of the schema's arguments that are no tensors: the defaults first, then distinct ones of calls `seen`."""
    names = _names(target)
    if not names:
        return [{}]
    found: dict[str, dict[str, Any]] = {}
    for arguments in (_defaults(target), *seen):
        chosen = {name: arguments[name] for name in names if name in arguments}
        if len(chosen) == len(names):
            found.setdefault(repr(chosen), chosen)
    sets = list(found.values()) or [{name: _fallback(target, name) for name in names}]
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


def _fallback(target: Target, name: str) -> Any:
    kind = next(str(each.type) for each in target.overload._schema.arguments if each.name == name)
    return _FALLBACK.get(kind)


def _spread(items: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    if len(items) <= count:
        return items
    step = len(items) / count
    return [items[int(index * step)] for index in range(count)]
