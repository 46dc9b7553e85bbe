"""Answers of our own where torch's CPU operator is wrong or follows no rule.

Each entry was seen on torch 2.13.0 CPU (x86). An entry either replaces the CPU's answer or allows another beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from pipeline.numerics.reference import Expected

Arguments = dict[str, Any]
Correction = Callable[[Arguments, Expected], Expected]


def corrected(operator: str, arguments: Arguments, answers: Expected) -> Expected:
    """The acceptable answers with what is known of `operator` worked in."""
    correction = _polynomial if "_polynomial_" in operator else _CORRECTIONS.get(operator)
    return correction(arguments, answers) if correction else answers


def _either(answers: Expected, mask: torch.Tensor, value: float) -> Expected:
    """Also accept `value` where `mask` is set."""
    first = answers.same[0]
    other = torch.where(mask, torch.full_like(first, value), first)
    return replace(answers, same=(*answers.same, other))


def _instead(answers: Expected, mask: torch.Tensor, *values: float) -> Expected:
    """Accept only `values` where `mask` is set."""
    first = answers.same[0]
    variants = [torch.where(mask, torch.full_like(first, value), each) for value in values for each in answers.same]
    wide = answers.wide
    if wide is not None:
        wide = torch.where(mask, torch.full_like(wide, values[0]), wide)
    return replace(answers, same=tuple(variants), wide=wide)


def _any_zero(arguments: Arguments, answers: Expected) -> Expected:
    """The sign of a zero result follows no rule on CPU, or is plus for every zero that comes in."""
    first = answers.same[0]
    if not first.dtype.is_floating_point:
        return answers
    return replace(answers, same=(*answers.same, torch.where(first == 0, -first, first)))


_BOUNDS = ("other", "min", "max", "min_val", "max_val")


def _zeros_of_both_signs(arguments: Arguments, answers: Expected) -> Expected:
    """Zero and minus zero compare equal, so either is the larger."""
    first = answers.same[0]
    if not first.dtype.is_floating_point:
        return answers
    zero = torch.as_tensor(arguments["self"]).expand(first.shape) == 0
    bounds = [arguments[name] for name in _BOUNDS if arguments.get(name) is not None] or [0]  # relu has none
    met = [zero & (torch.as_tensor(bound).expand(first.shape) == 0) for bound in bounds]
    return replace(answers, same=(*answers.same, torch.where(torch.stack(met).any(0), -first, first)))


def _gelu(arguments: Arguments, answers: Expected) -> Expected:
    """CPU multiplies infinity by zero; the limits are infinity and zero (pytorch #192318)."""
    operand = arguments["self"]
    answers = _instead(answers, operand == math.inf, math.inf)
    return _instead(answers, operand == -math.inf, -0.0, 0.0)


def _silu(arguments: Arguments, answers: Expected) -> Expected:
    return _either(answers, arguments["self"] == -math.inf, 0.0)


def _lerp(arguments: Arguments, answers: Expected) -> Expected:
    """An infinite start at weight 1 is NaN on CPU (0 times infinity) where the end would do."""
    first = answers.same[0]
    start, end, weight = (torch.as_tensor(arguments[name]).expand(first.shape) for name in ("self", "end", "weight"))
    at_end = torch.isinf(start) & (weight == 1) & torch.isnan(first)
    return replace(answers, same=(*answers.same, torch.where(at_end, end.to(first.dtype), first)))


def _polygamma(arguments: Arguments, answers: Expected) -> Expected:
    """The trigamma function is infinite at its poles; the CPU divides by the sine of a rounded multiple of pi."""
    operand = arguments["self"].double()
    pole = (operand <= 0) & (operand == operand.floor())
    return _either(answers, pole, math.inf) if arguments["n"] == 1 else answers


def _gcd(arguments: Arguments, answers: Expected) -> Expected:
    """The CPU leaves the sign of the smallest integer on the result."""
    first = answers.same[0]
    return replace(answers, same=(*answers.same, first.abs()))


def _polynomial(arguments: Arguments, answers: Expected) -> Expected:
    """From some degree on, 2 or 7, most return a variable that they have not set where the argument is NaN.

    Where the recurrence overflows, the order of its operations decides between infinity and NaN.
    """
    first = answers.same[0]
    x, degree = (torch.as_tensor(arguments[name]).expand(first.shape) for name in ("x", "n"))
    answers = _instead(answers, torch.isnan(x) & (degree >= 2), math.nan)
    return _either(answers, torch.isfinite(x) & torch.isinf(first), math.nan)


_CORRECTIONS: dict[str, Correction] = {
    "gelu": _gelu,
    "silu": _silu,
    "lerp": _lerp,
    "gcd": _gcd,
    "polygamma": _polygamma,
    "remainder": _any_zero,
    "xlogy": _any_zero,
    "special_xlog1py": _any_zero,
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin", "relu", "hardtanh"), _zeros_of_both_signs),
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max"), _zeros_of_both_signs),
    "special_modified_bessel_i1": _any_zero,
}
