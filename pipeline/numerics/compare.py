"""Which elements of a kernel's result are wrong, by which measure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from pipeline.numerics.reference import MPS_ATOL, MPS_RTOL, Expected, rtol

# Results that are a choice among the operands, an exact function of them, or a correctly rounded one: every bit counts.
EXACT = frozenset(
    """neg abs sign sgn signbit ceil floor trunc round frac positive relu relu6 hardtanh threshold threshold_backward
    hardtanh_backward clamp clamp_min clamp_max clip maximum minimum max min fmax fmin where copysign nextafter fmod
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift
    bitwise_right_shift eq ne lt le gt ge isnan isinf isfinite isposinf isneginf isclose conj_physical conj real imag
    heaviside nan_to_num flip roll repeat pixel_shuffle pixel_unshuffle hardshrink frexp gcd lcm isin bincount""".split()
)

# The same for complex operands, where most of the above are computed.
EXACT_COMPLEX = frozenset(
    "neg positive where conj_physical conj real imag flip roll repeat pixel_shuffle pixel_unshuffle".split()
)


_GROSS = {
    torch.float32: 1e-3,
    torch.complex64: 1e-3,
    torch.float16: 1e-2,
    torch.complex32: 1e-2,
    torch.bfloat16: 6e-2,
}


def is_exact(operator: str, complex_operands: bool) -> bool:
    return operator in (EXACT_COMPLEX if complex_operands else EXACT)


@dataclass(frozen=True)
class Verdict:
    """`wrong` marks bad elements; `masked` counts those that could not be compared.

    `reason` names the measure that failed: value, sign of zero, class (NaN or infinity), or bits.
    """

    wrong: torch.Tensor
    reason: str
    masked: int = 0

    @property
    def passed(self) -> bool:
        return not bool(self.wrong.any())


def compare(
    got: torch.Tensor,
    expected: Expected,
    exact: bool,
    inputs_finite: torch.Tensor | None = None,
    operands_subnormal: torch.Tensor | None = None,
) -> Verdict:
    """Compare element by element. `got` has the dtype and shape of `expected`.

    `exact` asks for every bit. `inputs_finite` marks elements whose operands were all finite: complex results are
    compared only loosely elsewhere, where the CPU itself follows no rule. `operands_subnormal` marks elements that a
    GPU may compute from zeros; they are masked when an inexact operator differs there.
    """
    verdict = _compare(got, expected, exact, inputs_finite)
    if operands_subnormal is None or verdict.passed:
        return verdict
    masked = verdict.wrong & operands_subnormal
    wrong = verdict.wrong & ~operands_subnormal
    return replace(verdict, wrong=wrong, masked=verdict.masked + int(masked.sum()))


def _compare(got: torch.Tensor, expected: Expected, exact: bool, inputs_finite: torch.Tensor | None) -> Verdict:
    if got.dtype.is_complex:
        return _compare_complex(got, expected, exact, inputs_finite)
    if not got.dtype.is_floating_point:
        wrong = torch.ones_like(got, dtype=torch.bool)
        for answer in expected.same:
            wrong &= got != answer
        return Verdict(wrong, "value")
    if exact:
        wrong = torch.ones_like(got, dtype=torch.bool)
        for answer in expected.same:
            wrong &= ~_identical(got, answer)
        return Verdict(wrong, _reason(got, expected, wrong, "bits"))
    right = torch.zeros_like(got, dtype=torch.bool)
    for answer in expected.same:
        right |= _near(got, answer.double(), expected.slack)
    if expected.wide is not None:
        right |= _near(got, expected.wide, expected.slack)
        right |= _near(got, expected.wide.to(got.dtype).double(), expected.slack)
    wrong = ~right | _wrong_zero(got, expected)
    return Verdict(wrong, _reason(got, expected, wrong, "value"))


def subnormal(tensor: torch.Tensor) -> torch.Tensor:
    """Values that an Apple GPU reads as zero, in either part of a complex number."""
    if tensor.dtype is torch.complex64:
        return subnormal(tensor.real) | subnormal(tensor.imag)
    if tensor.dtype in (torch.float32, torch.bfloat16):
        return (tensor != 0) & (tensor.abs() < torch.finfo(tensor.dtype).smallest_normal)
    return torch.zeros(tensor.shape, dtype=torch.bool)


def graded(verdict: Verdict, got: torch.Tensor, expected: Expected) -> tuple[str, torch.Tensor]:
    """The worst measure that failed and the elements it concerns.

    A wrong "value" that upstream's absolute tolerance would let pass is called "relative" when whole digits are wrong,
    and "imprecise" when only the last ones are.
    """
    if verdict.reason != "value" or not (got.dtype.is_floating_point or got.dtype.is_complex):
        return verdict.reason, verdict.wrong
    answer = expected.same[0].to(torch.complex128 if got.dtype.is_complex else torch.float64)
    error = (got.to(answer.dtype) - answer).abs()
    size = answer.abs()
    outside = verdict.wrong & ~(error <= MPS_ATOL + rtol(got.dtype) * size)
    if bool(outside.any()):
        return "value", outside
    gross = verdict.wrong & (error > _GROSS[got.dtype] * size)
    return ("relative", gross) if bool(gross.any()) else ("imprecise", verdict.wrong)


def _near(got: torch.Tensor, answer: torch.Tensor, slack: torch.Tensor | None) -> torch.Tensor:
    """Close relative to the answer, give or take the slack; NaN and infinities only meet themselves.

    Where the answer is within tolerance of the dtype's overflow, infinity counts as close.
    """
    info = torch.finfo(got.dtype)
    value = got.double()
    allowed = MPS_RTOL[got.dtype] * answer.abs() + info.smallest_normal * info.eps
    if slack is not None:
        allowed = allowed + slack
    close = (value - answer).abs() <= allowed
    overflow = torch.isinf(value) & ~torch.isinf(answer) & (answer.abs() + allowed >= info.max)
    overflow &= torch.sign(value) == torch.sign(answer)
    return close | overflow | (value == answer) | (torch.isnan(value) & torch.isnan(answer))


def _wrong_zero(got: torch.Tensor, expected: Expected) -> torch.Tensor:
    """Zeros with the other sign, where the CPU's answers agree on zero and on its sign."""
    first = expected.same[0]
    agreed = (got == 0) & (first == 0)
    for answer in (*expected.same, *((expected.wide,) if expected.wide is not None else ())):
        agreed &= torch.signbit(answer) == torch.signbit(first)
        agreed &= answer.to(got.dtype) == 0
    return agreed & (torch.signbit(got) != torch.signbit(first))


def _identical(got: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
    same_sign = torch.signbit(got) == torch.signbit(answer)
    return ((got == answer) & same_sign) | (torch.isnan(got) & torch.isnan(answer))


def _compare_complex(
    got: torch.Tensor, expected: Expected, exact: bool, inputs_finite: torch.Tensor | None
) -> Verdict:
    real = torch.float16 if got.dtype is torch.complex32 else torch.float32
    value = torch.view_as_real(got).double()
    finite = torch.isfinite(value).all(-1)
    right = torch.zeros(got.shape, dtype=torch.bool)
    nowhere_finite = torch.ones(got.shape, dtype=torch.bool)
    answers = [torch.view_as_real(each).double() for each in expected.same]
    if expected.wide is not None and not exact:
        answers.append(torch.view_as_real(expected.wide))
        answers.append(torch.view_as_real(expected.wide.to(got.dtype)).double())
    for answer in answers:
        size = answer.norm(dim=-1)
        allowed = MPS_RTOL[real] * size + torch.finfo(real).smallest_normal * torch.finfo(real).eps
        if exact:
            allowed = torch.zeros_like(size)
        elif expected.slack is not None:
            allowed = allowed + expected.slack
        close = (value - answer).norm(dim=-1) <= allowed
        same = ((value == answer) | (torch.isnan(value) & torch.isnan(answer))).all(-1)
        big = ~finite & torch.isfinite(answer).all(-1) & (size + allowed >= torch.finfo(real).max)
        right |= close | same | big
        nowhere_finite &= ~torch.isfinite(answer).all(-1)
    loose = nowhere_finite & ~finite
    if inputs_finite is not None:
        loose &= ~inputs_finite
    masked = int((loose & ~right).sum())
    return Verdict(~(right | loose), "value", masked)


def _reason(got: torch.Tensor, expected: Expected, wrong: torch.Tensor, default: str) -> str:
    if not bool(wrong.any()):
        return default
    answer = expected.same[0][wrong]
    bad = got[wrong]
    if bool((torch.isnan(answer) != torch.isnan(bad)).any()):
        return "NaN"
    if bool((torch.isinf(answer) != torch.isinf(bad)).any()):
        return "infinity"
    if bool(((answer == 0) & (bad == 0)).all()):
        return "sign of zero"
    return default
