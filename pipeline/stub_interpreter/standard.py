"""The standard library and fmt, as far as stubs use them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import torch

from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.execute import torch_dtype
from pipeline.stub_interpreter import numbers
from pipeline.stub_interpreter.errors import CheckFailedError, FaultError, NotUnderstoodError
from pipeline.stub_interpreter.evaluate import truth
from pipeline.stub_interpreter.interpreter import Interpreter
from pipeline.stub_interpreter.numbers import Number, canonical, convert, dtype_of_type
from pipeline.stub_interpreter.types import Native
from pipeline.stub_interpreter.values import SCALAR_TYPES, Array, Scalar, longs


def _format(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    pattern = arguments[0]
    if not isinstance(pattern, str) or re.search(r"\{[^}]", pattern):
        raise NotUnderstoodError("fmt::format with more than {}")
    return pattern.format(*(spelled(each) for each in arguments[1:]))


def spelled(value: object) -> str:
    """A value in a message or a kernel's name."""
    match value:
        case Number(type="bool"):
            return "true" if value.value else "false"
        case Number() | Scalar():
            return str(value.value)
        case Dtype():
            return next((name for name, dtype in SCALAR_TYPES.items() if dtype is value), value.name)
        case Array():
            return f"[{', '.join(spelled(each) for each in value.items)}]"
    return str(value)


def _extreme(largest: bool) -> Native:
    def pick(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
        items = arguments[0].items if isinstance(arguments[0], Array) else arguments
        kind = canonical(template[0]) if template else None
        best = convert(items[0], kind) if kind else items[0]
        for item in items[1:]:
            other = convert(item, kind) if kind else item
            if not isinstance(best, Number) or not isinstance(other, Number):
                raise NotUnderstoodError("min or max of what is no number")
            if numbers.ordered(">" if largest else "<", other, best):
                best = other
        return best

    return pick


def _abs(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    value = arguments[0]
    if not isinstance(value, Number):
        raise NotUnderstoodError("abs of what is no number")
    return numbers.fitted(abs(value.value), value.type)


def _clamp(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    value, low, high = arguments
    if isinstance(low, Number) and isinstance(high, Number) and numbers.ordered("<", high, low):
        raise FaultError("std::clamp between a low bound and a lower one, which C++ leaves undefined")
    raised = _extreme(True)(interpreter, [value, low], template)
    return _extreme(False)(interpreter, [raised, high], template)


def _matching(every: bool) -> Native:
    def check(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
        first, predicate = arguments[0], arguments[-1]
        if not isinstance(first, Array):
            raise NotUnderstoodError("an algorithm over something that is no list")
        found = [truth(interpreter.invoke(predicate, [item])) for item in first.items]
        return Number(all(found) if every else any(found), "bool")

    return check


def _checked_convert(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    value, kind = arguments[0], canonical(template[0]) or ""
    converted = convert(value, kind)
    if not isinstance(value, Number) or converted.value != value.value:
        raise CheckFailedError(f"value cannot be converted to type {template[0]} without overflow")
    return converted


def _irange(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    ends = [int(each) for each in arguments if isinstance(each, Number)]
    return longs(range(*ends))


def _ceil_div(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    return _divided_up(arguments, template, multiply=False)


def _round_up(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    return _divided_up(arguments, template, multiply=True)


def _divided_up(arguments: Sequence[object], template: tuple[str, ...], multiply: bool) -> Number:
    a, b = arguments
    if not isinstance(a, Number) or not isinstance(b, Number):
        raise NotUnderstoodError("ceil_div or round_up of what is no number")
    kind = (canonical(template[0]) if template else None) or numbers.common_type(a.type, b.type)
    count = -(-int(a) // int(b))
    return numbers.fitted(count * int(b) if multiply else count, kind)


def _tuple(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    return tuple(arguments)


def _get(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    found = arguments[0]
    if not isinstance(found, tuple):
        raise NotUnderstoodError("std::get of something that is no tuple")
    return found[int(template[0])]


def _same_value(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    return arguments[0]


def _to_string(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    return spelled(arguments[0])


def _limit(interpreter: Interpreter, arguments: Sequence[object], template: tuple[str, ...]) -> object:
    name, which = (str(each) for each in arguments)
    kind = canonical(name)
    if kind is None:
        raise NotUnderstoodError(f"numeric_limits<{name}>")
    dtype = torch_dtype(dtype_of_type(kind))
    info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    floating = isinstance(info, torch.finfo)
    values = {
        "max": info.max,
        "lowest": info.min,
        "min": info.smallest_normal if isinstance(info, torch.finfo) else info.min,
        "infinity": math.inf if floating else 0,
        "quiet_NaN": math.nan if floating else 0,
        "epsilon": info.eps if isinstance(info, torch.finfo) else 0,
    }
    return numbers.fitted(values[which], kind)


NATIVES: dict[str, Native] = {
    "fmt::format": _format,
    "format": _format,
    "to_string": _to_string,
    "min": _extreme(False),
    "max": _extreme(True),
    "abs": _abs,
    "clamp": _clamp,
    "any_of": _matching(False),
    "all_of": _matching(True),
    "checked_convert": _checked_convert,
    "irange": _irange,
    "ceil_div": _ceil_div,
    "round_up": _round_up,
    "make_tuple": _tuple,
    "forward_as_tuple": _tuple,
    "tie": _tuple,
    "get": _get,
    "move": _same_value,
    "forward": _same_value,
    "numeric_limits": _limit,
}
