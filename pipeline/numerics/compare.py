"""Which elements of a kernel's result are wrong, by which measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pipeline.numerics.reference import MPS_RTOL, Expected, rtol
from pipeline.numerics.slack import MPS_ATOL

# Results that are a choice among the operands, an exact function of them, or a correctly rounded one: every bit counts.
EXACT = frozenset(
    {
        *("neg", "abs", "sign", "sgn", "signbit", "positive", "copysign", "nextafter", "frexp"),
        *("ceil", "floor", "trunc", "round", "frac", "fmod", "gcd", "lcm", "heaviside", "nan_to_num"),
        *("relu", "relu6", "hardtanh", "hardtanh_backward", "threshold", "threshold_backward", "hardshrink"),
        *("clamp", "clamp_min", "clamp_max", "maximum", "minimum", "max", "min", "fmax", "fmin", "where"),
        *("logical_and", "logical_or", "logical_xor", "logical_not"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift"),
        *("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "isclose"),
        *("conj_physical", "real", "imag", "flip", "roll", "repeat", "pixel_shuffle", "pixel_unshuffle"),
        *("isin", "bincount", "mul"),
    }
)

# The same for complex operands, where most of the above are computed.
EXACT_COMPLEX = frozenset(
    {"neg", "positive", "where", "conj_physical", "real", "imag", "flip", "roll", "repeat"}
    | {"pixel_shuffle", "pixel_unshuffle"}
)

HEADER_LIMITED = frozenset({"igamma", "igammac", "digamma", "lgamma", "polygamma", "special_zeta"})
"""Operators whose own functions in c10/metal (2.13) are not as exact as upstream's tolerance asks for.

They lose some ten roundings, and every digit where the first operand is tiny. There is nothing else that a kernel
could call.
"""

_LIMITED_ROUNDINGS = 10

_ABOUT, _ALIKE = 1e-2, 1e-4
"""Relative: parts of complex results that are about the same; and on which the CPU's answers agree."""

_GROSS = 0.5
"""Beyond this relative error an answer has nothing in common with the truth: it is zero, or of another magnitude."""


def is_exact(operator: str, complex_operands: bool) -> bool:
    return operator in (EXACT_COMPLEX if complex_operands else EXACT)


@dataclass(frozen=True)
class Verdict:
    """`wrong` marks bad elements, `masked` counts those that could not be compared."""

    wrong: torch.Tensor
    masked: int = 0

    @property
    def passed(self) -> bool:
        return not bool(self.wrong.any())


@dataclass(frozen=True)
class Inputs:
    """Where all of an element's operands were finite, and where one of them was NaN."""

    finite: torch.Tensor
    nan: torch.Tensor

    @classmethod
    def of(cls, operands: Sequence[torch.Tensor], shape: torch.Size) -> Inputs:
        finite, nan = torch.ones(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
        for operand in operands:
            finite &= torch.isfinite(operand)
            nan |= torch.isnan(operand)
        return cls(finite, nan)


def compare(
    got: torch.Tensor,
    expected: Expected,
    exact: bool,
    inputs: Inputs | None = None,
    unsafe: torch.Tensor | None = None,
) -> Verdict:
    """Compare element by element. `got` has the dtype and shape of `expected`.

    `exact` asks for every bit. `inputs` is known for complex operands: where one is NaN, or the CPU's answers for an
    infinite one differ, results are compared only loosely. `unsafe` marks elements that are masked when
    they differ, such as those a GPU computes from flushed operands.
    """
    masked = 0
    if got.dtype.is_complex:
        wrong, masked = _wrong_complex(got, expected, exact, inputs)
    elif not got.dtype.is_floating_point:
        wrong = torch.ones_like(got, dtype=torch.bool)
        for answer in expected.same:
            wrong &= got != answer
    elif exact:
        wrong = torch.ones_like(got, dtype=torch.bool)
        for answer in expected.same:
            wrong &= ~_identical(got, answer)
    else:
        wrong = _wrong_float(got, expected)
    if unsafe is not None:
        masked += int((wrong & unsafe).sum())
        wrong &= ~unsafe
    return Verdict(wrong, masked)


def subnormal(tensor: torch.Tensor) -> torch.Tensor:
    """Values that an Apple GPU reads as zero: subnormal float and bfloat numbers, in either part of a complex one.

    It keeps the subnormal numbers of half.
    """
    if tensor.dtype is torch.complex64:
        return subnormal(tensor.real) | subnormal(tensor.imag)
    if tensor.dtype in (torch.float32, torch.bfloat16):
        return (tensor != 0) & (tensor.abs() < torch.finfo(tensor.dtype).smallest_normal)
    return torch.zeros(tensor.shape, dtype=torch.bool)


def extreme(tensor: torch.Tensor) -> torch.Tensor:
    """Floats so small or large that a product or quotient of them may leave the range of normal numbers."""
    if tensor.dtype is torch.complex64:
        return extreme(tensor.real) | extreme(tensor.imag)
    if not tensor.is_floating_point():
        return torch.zeros(tensor.shape, dtype=torch.bool)
    size = tensor.double().abs()
    return ~torch.isfinite(size) | ((size != 0) & ((size < 2.0**-50) | (size > 2.0**50)))


def by_reason(
    got: torch.Tensor, expected: Expected, wrong: torch.Tensor, exact: bool, limited: bool = False
) -> dict[str, torch.Tensor]:
    """The wrong elements by what is wrong with them: NaN, infinity, sign of zero, value, relative, imprecise.

    A wrong value that upstream's absolute tolerance would let pass is "relative" when nothing of it is right, and
    "imprecise" when its last digits are not; of these three only the worst is given. `limited` operators get more.
    """
    answer = expected.same[0]
    if not (got.dtype.is_floating_point or got.dtype.is_complex):
        return {"value": wrong}
    nan = wrong & (torch.isnan(answer) != torch.isnan(got))
    infinity = wrong & ~nan & (torch.isinf(answer) != torch.isinf(got))
    zero = wrong & (answer == 0) & (got == 0)
    rest = wrong & ~nan & ~infinity & ~zero
    found = {"NaN": nan, "infinity": infinity, "sign of zero": zero}
    if bool(rest.any()):
        name, mask = ("value", rest) if exact else _graded(got, answer, rest, _LIMITED_ROUNDINGS if limited else 1)
        found[name] = mask
    return {name: mask for name, mask in found.items() if bool(mask.any())}


def _graded(got: torch.Tensor, answer: torch.Tensor, wrong: torch.Tensor, times: int) -> tuple[str, torch.Tensor]:
    wide = torch.complex128 if got.dtype.is_complex else torch.float64
    error, size = (got.to(wide) - answer.to(wide)).abs(), answer.to(wide).abs()
    outside = wrong & ~(torch.isfinite(size) & (error <= times * (MPS_ATOL + rtol(got.dtype) * size)))
    if bool(outside.any()):
        return "value", outside
    gross = wrong & (error > _GROSS * size)
    return ("relative", gross) if bool(gross.any()) else ("imprecise", wrong)


def _wrong_float(got: torch.Tensor, expected: Expected) -> torch.Tensor:
    right = _right_float(got, expected, None)
    if not bool(right.all()) and expected.slack is not None:
        right = _right_float(got, expected, expected.slack)
    return ~right | _wrong_zero(got, expected)


def _right_float(got: torch.Tensor, expected: Expected, slack: torch.Tensor | None) -> torch.Tensor:
    right = torch.zeros_like(got, dtype=torch.bool)
    wide = () if expected.wide is None else (expected.wide, expected.wide.to(got.dtype))
    for answer in (*expected.same, *wide):
        right |= _near(got, answer.double(), slack)
        if bool(right.all()):
            break
    return right


def _near(got: torch.Tensor, answer: torch.Tensor, slack: torch.Tensor | None) -> torch.Tensor:
    """Close relative to the answer, give or take the slack; NaN and infinities only meet themselves.

    Where the answer is within tolerance of the dtype's overflow, infinity counts as close.
    """
    info = torch.finfo(got.dtype)
    value = got.double()
    allowed = MPS_RTOL[got.dtype] * answer.abs() + info.smallest_normal * info.eps
    if slack is not None:
        allowed = allowed + slack
    close = torch.isfinite(answer) & ((value - answer).abs() <= allowed)
    overflow = torch.isinf(value) & ~torch.isinf(answer) & (answer.abs() + allowed >= info.max)
    overflow &= torch.sign(value) == torch.sign(answer)
    return close | overflow | (value == answer) | (torch.isnan(value) & torch.isnan(answer))


def _wrong_zero(got: torch.Tensor, expected: Expected) -> torch.Tensor:
    """Zeros with the other sign, where the CPU's answers agree on zero and on its sign."""
    first = expected.same[0]
    agreed = (got == 0) & (first == 0)
    for answer in (*expected.same, *((expected.wide,) if expected.wide is not None else ())):
        agreed &= torch.signbit(answer) == torch.signbit(first)
        agreed &= answer == 0  # A zero left by underflow has whichever sign the order of operations gave it.
    return agreed & (torch.signbit(got) != torch.signbit(first))


def _identical(got: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
    same_sign = torch.signbit(got) == torch.signbit(answer)
    return ((got == answer) & same_sign) | (torch.isnan(got) & torch.isnan(answer))


def _wrong_complex(
    got: torch.Tensor, expected: Expected, exact: bool, inputs: Inputs | None
) -> tuple[torch.Tensor, int]:
    """The wrong elements, and how many are masked. The slack is asked for only where something depends on it."""
    wrong, masked = _wrong_complex_within(got, expected, exact, inputs, None)
    if (masked or bool(wrong.any())) and expected.slack is not None:
        return _wrong_complex_within(got, expected, exact, inputs, expected.slack)
    return wrong, masked


def _wrong_complex_within(
    got: torch.Tensor, expected: Expected, exact: bool, inputs: Inputs | None, slack: torch.Tensor | None
) -> tuple[torch.Tensor, int]:
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
        elif slack is not None:
            allowed = allowed + slack
        close = torch.isfinite(size) & ((value - answer).norm(dim=-1) <= allowed)
        same = ((value == answer) | (torch.isnan(value) & torch.isnan(answer))).all(-1)
        big = ~finite & torch.isfinite(answer).all(-1) & (size + allowed >= torch.finfo(real).max)
        right |= close | same | big
        nowhere_finite &= ~torch.isfinite(answer).all(-1)
    loose = nowhere_finite & ~finite
    if inputs is not None:
        loose &= ~inputs.finite & (inputs.nan | ~_agree(answers) | _parts_alike(value, answers[0]))
    masked = int((loose & ~right).sum())
    right &= ~_wrong_part(value, answers, slack)
    return ~(right | loose), masked


def _wrong_part(value: torch.Tensor, answers: list[torch.Tensor], slack: torch.Tensor | None) -> torch.Tensor:
    """Where a part is off though all answers agree on it: the norm of both does not show that in the smaller one."""
    first, size = answers[0], answers[0].abs()
    agreed = torch.isfinite(first) & torch.isfinite(value) & (size > torch.finfo(torch.float32).tiny)
    for answer in answers[1:]:
        agreed &= (answer - first).abs() <= _ALIKE * size
    allowed = _ABOUT * size + (0 if slack is None else slack.unsqueeze(-1))
    return (agreed & ((value - first).abs() > allowed)).any(-1)


def _parts_alike(value: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
    """Where both parts are the same NaN or infinity, or about the same number."""
    near = torch.isfinite(answer) & ((value - answer).abs() <= _ABOUT * answer.abs() + torch.finfo(torch.float32).tiny)
    return (near | (value == answer) | (torch.isnan(value) & torch.isnan(answer))).all(-1)


def _agree(answers: list[torch.Tensor]) -> torch.Tensor:
    """Where all answers say the same of each part: which infinity, or finite. NaN comes of factors such as 1 + 0j."""
    first = answers[0]
    agreed = ~torch.isnan(first)
    for answer in answers[1:]:
        agreed &= ~torch.isnan(answer) & (torch.isinf(answer) == torch.isinf(first))
        agreed &= ~torch.isinf(first) | (answer == first)
    return agreed.all(-1)
