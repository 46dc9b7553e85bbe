"""Values that discriminate: every special value of a dtype, the ends of its range, and a spread between.

OpInfo's samples alone let most functor faults pass (its integers stop at 10701, its extremal floats are only infinities
and NaN); these are crossed with each other for operators of two and three operands.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import torch

_SEED = 20260

# Beyond the ends of what follows: points where common functions turn, overflow, underflow or lose digits.
_LANDMARKS = (
    0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.5, 6.0, 7.0, 9.0, 10.0, 11.0, 12.0, 16.0, 20.0, 25.0, 33.0, 50.0, 88.0,
    89.5, 104.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-7, 1e-10, 1e-20, 1e-30, 1e-37, 1e3, 1e4, 6e4, 1e5, 1e8, 1e10, 1e19,
    1e20, 1e30, 2e38, 3e38, math.pi, math.pi / 2, math.e, math.sqrt(2), 0.7, 0.9, 0.99, 0.9999, 1.0001, 1.1,
    2.0**24 - 1, 2.0**24 + 2, 89.0, 127.5, 2.0**31, 2.0**63, 1 / 3, 2 / 3, 170.0, 1.4427, 0.3, 130.0,
)  # fmt: skip

_FEW = (0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 9.0, 1e-3, 1e-20, 1e4, 3e38, 20.0)


def special(dtype: torch.dtype, extra: Iterable[float] = (), *, few: bool = False) -> torch.Tensor:
    """A 1-D tensor of the values worth trying one by one, without repeats.

    `extra` are boundaries of the operator at hand; each comes with its two neighbours. `few` leaves out most of the
    middle of the range, for crossing.
    """
    if dtype is torch.bool:
        return torch.tensor([False, True])
    if dtype.is_complex:
        return _complex(dtype, extra, few)
    if dtype.is_floating_point:
        return _floats(dtype, extra, few)
    return _integers(dtype, extra, few)


def sweep(dtype: torch.dtype, count: int = 8192) -> torch.Tensor:
    """Values spread over all bit patterns of the dtype: all of them where there are at most 65536."""
    if dtype.is_complex:
        generator = torch.Generator().manual_seed(_SEED)
        real = torch.complex64 if dtype is torch.complex32 else dtype
        scale = torch.tensor([1e-4, 1e-2, 1.0, 1.0, 3.0, 30.0]).repeat(count // 6 + 1)[:count]
        return (torch.randn(count, dtype=real, generator=generator) * scale).to(dtype)
    if dtype is torch.bool:
        return torch.tensor([False, True] * 8)
    size = dtype.itemsize
    if size <= 2:
        patterns = torch.arange(1 << (8 * size), dtype=torch.int64)
        return patterns.to(_bits_type(size)).view(dtype)
    step = (1 << (8 * size)) // count | 1
    numbers = [(index * step) % (1 << (8 * size)) for index in range(count)]
    signed = [number - (1 << (8 * size)) if number >= 1 << (8 * size - 1) else number for number in numbers]
    return torch.tensor(signed, dtype=_bits_type(size)).view(dtype)


def crossed(columns: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Every combination, one per position: as many 1-D tensors as given, all of the product's length."""
    indices = torch.cartesian_prod(*(torch.arange(len(column)) for column in columns)).reshape(-1, len(columns))
    return [column[indices[:, position]] for position, column in enumerate(columns)]


def random(dtype: torch.dtype, count: int, seed: int) -> torch.Tensor:
    """Mid-range values, half of them spread over some decades."""
    generator = torch.Generator().manual_seed(_SEED + seed)
    if dtype is torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if dtype.is_floating_point or dtype.is_complex:
        real = {torch.complex32: torch.complex64}.get(dtype, dtype if dtype.is_complex else torch.float32)
        normal = torch.randn(count, dtype=real, generator=generator)
        exponent = torch.rand(count, generator=generator) * 6 - 3
        spread = torch.where(torch.arange(count) % 2 == 0, torch.tensor(1.0), 10**exponent)
        return (normal * spread).to(dtype)
    info = torch.iinfo(dtype)
    bound = min(info.max, 1000)
    small = torch.randint(max(info.min, -bound), bound, (count,), generator=generator)
    wide = torch.randint(max(info.min, -(2**62)), min(info.max, 2**62), (count,), generator=generator)
    return torch.where(torch.arange(count) % 2 == 0, small, wide).to(dtype)


def _floats(dtype: torch.dtype, extra: Iterable[float], few: bool) -> torch.Tensor:
    info = torch.finfo(dtype)
    smallest = info.smallest_normal * info.eps
    ends = [0.0, math.inf, info.max, info.smallest_normal, smallest]
    if not few:
        ends += [info.eps, info.eps / 2, info.max / 2, info.smallest_normal * 2, info.smallest_normal / 2]
    positive = [*ends, *(_FEW if few else _LANDMARKS), *([] if few else _neighbours(dtype, (1.0, 0.5)))]
    numbers = [*positive, *(-each for each in positive), math.nan, *_around(dtype, extra)]
    return _distinct(torch.tensor(numbers, dtype=torch.float64).to(dtype))


def _integers(dtype: torch.dtype, extra: Iterable[float], few: bool) -> torch.Tensor:
    info = torch.iinfo(dtype)
    wanted = [0, 1, 2, 3, 5, 7, 10, info.max, info.max - 1, info.min, info.min + 1, 31, 32, 63, 64]
    if not few:
        wanted += [4, 6, 8, 9, 11, 12, 13, 16, 20, 100, 127, 128, 255, 256, 1000, 10701, 32767, 65535, 65537]
        wanted += [2**24 - 1, 2**24 + 3, 2**31 - 1, 2**31, 2**53 + 1, 2**60 + 1, info.max // 2 + 1]
    wanted += [2**24 + 1, 2**24 + 3, 2**53 + 1]
    wanted += [around for value in extra if math.isfinite(value) for around in (math.floor(value), math.ceil(value))]
    numbers = sorted({sign * value for value in wanted for sign in (1, -1)})
    return torch.tensor([number for number in numbers if info.min <= number <= info.max], dtype=dtype)


def _complex(dtype: torch.dtype, extra: Iterable[float], few: bool) -> torch.Tensor:
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, math.inf, -math.inf, math.nan]
    if not few:
        parts += [0.25, 3.0, -9.0, 1e-4, -1e-20, 2e4, -2e30, 30.0, *extra]
    pairs = list(itertools.product(parts, parts))
    wide = torch.tensor([complex(real, imag) for real, imag in pairs], dtype=torch.complex128)
    if dtype is torch.complex32:
        return torch.view_as_complex(torch.view_as_real(wide).to(torch.float16))
    return wide.to(dtype)


def _around(dtype: torch.dtype, points: Iterable[float]) -> list[float]:
    return [around for point in points for around in (point, *_neighbours(dtype, (point,)))]


def _neighbours(dtype: torch.dtype, points: Iterable[float]) -> list[float]:
    numbers = torch.tensor(list(points), dtype=torch.float64).to(dtype)
    upper = torch.nextafter(numbers, torch.full_like(numbers, math.inf))
    lower = torch.nextafter(numbers, torch.full_like(numbers, -math.inf))
    return [*upper.double().tolist(), *lower.double().tolist()]


def _distinct(values: torch.Tensor) -> torch.Tensor:
    """Without repeats, telling 0 from -0 by their bits."""
    bits = values.view(_bits_type(values.element_size()))
    kept = dict.fromkeys(bits.tolist())
    return torch.tensor(list(kept), dtype=bits.dtype).view(values.dtype)


def _bits_type(size: int) -> torch.dtype:
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
