"""The math library: accuracy, special values, precise and fast, subnormal numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from pipeline.metal import Compilation, Launch, Library, compile_shader


def sinpi(x: torch.Tensor) -> torch.Tensor:
    """sin(pi x) in float64, reduced exactly to a quarter turn first."""
    turn = x - 2 * torch.round(x / 2)
    turn = torch.where(turn.abs() > 0.5, torch.copysign(torch.ones(()).double(), turn) - turn, turn)
    return torch.sin(math.pi * turn)


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "acos": torch.acos, "acosh": torch.acosh, "asin": torch.asin, "asinh": torch.asinh, "atan": torch.atan,
    "atanh": torch.atanh, "ceil": torch.ceil, "cos": torch.cos, "cosh": torch.cosh, "exp": torch.exp,
    "exp2": torch.exp2, "exp10": lambda x: 10.0**x, "fabs": torch.abs, "floor": torch.floor, "log": torch.log,
    "log2": torch.log2, "log10": torch.log10, "rint": torch.round,
    "round": lambda x: torch.copysign((x.abs() + 0.5).floor(), x),
    "rsqrt": torch.rsqrt, "sin": torch.sin, "sinh": torch.sinh, "sqrt": torch.sqrt, "tan": torch.tan,
    "tanh": torch.tanh, "trunc": torch.trunc, "sinpi": sinpi,
    "cospi": lambda x: sinpi(0.5 - (x - 2 * torch.round(x / 2)).abs()),
}  # fmt: skip
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "atan2": torch.atan2, "copysign": torch.copysign, "fmax": torch.fmax, "fmin": torch.fmin, "fmod": torch.fmod,
    "pow": torch.pow, "max": torch.fmax, "min": torch.fmin,
}  # fmt: skip
SPECIAL = torch.tensor(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, math.inf, -math.inf, math.nan, 1e-30, -1e-30, 3e38, 88.0, 100.5, 1e4]
)
KEEP = Launch(flush_subnormals=False)


@pytest.fixture(scope="module")
def functions() -> Library:
    kernels = [
        f"kernel void {name}_{t}(device {t}* o, constant {t}* x, uint i [[thread_position_in_grid]]) "
        f"{{ o[i] = metal::{name}(x[i]); }}"
        for name in UNARY
        for t in ("float", "half")
    ]
    kernels += [
        f"kernel void {name}_{t}(device {t}* o, constant {t}* x, constant {t}* y, uint i [[thread_position_in_grid]]) "
        f"{{ o[i] = metal::{name}(x[i], y[i]); }}"
        for name in BINARY
        for t in ("float", "half")
    ]
    return compile_shader("#include <metal_stdlib>\n" + "\n".join(kernels))


def ulps(got: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """The distance from the exact value in units of the last place of `got`'s type."""
    rounded = exact.to(got.dtype)
    spacing = (
        torch.nextafter(rounded.abs(), torch.full_like(rounded, math.inf)).double() - rounded.abs().double()
    ).abs()
    same = (got == rounded) | (got.isnan() & rounded.isnan())
    return torch.where(same, 0.0, (got.double() - exact).abs() / spacing)


def values(dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    spread = torch.randn(3000, generator=generator) * 10 ** (torch.rand(3000, generator=generator) * 8 - 5)
    return torch.cat([SPECIAL, spread, torch.rand(500, generator=generator) * 2 - 1]).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_are_exact_to_two_ulps(functions: Library, name: str, dtype: torch.dtype) -> None:
    x = values(dtype)
    got = torch.empty_like(x)
    getattr(functions, f"{name}_{'float' if dtype is torch.float32 else 'half'}")(got, x, launch=KEEP)
    exact = UNARY[name](x.double())
    assert ulps(got, exact).max() <= 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_are_exact_to_two_ulps(functions: Library, name: str, dtype: torch.dtype) -> None:
    specials = torch.cartesian_prod(SPECIAL, SPECIAL).T.to(dtype)
    x = torch.cat([specials[0], values(dtype)])
    y = torch.cat([specials[1], values(dtype).flip(0)])
    got = torch.empty_like(x)
    getattr(functions, f"{name}_{'float' if dtype is torch.float32 else 'half'}")(got, x, y, launch=KEEP)
    exact = BINARY[name](x.double(), y.double())
    assert ulps(got, exact).max() <= 2


def test_min_and_max_drop_nan() -> None:
    library = compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void k(device float* o, constant float& nan) {
            o[0] = max(nan, 1.0f), o[1] = max(1.0f, nan), o[2] = min(nan, 1.0f), o[3] = min(1.0f, nan);
            o[4] = clamp(nan, 2.0f, 3.0f), o[5] = max(nan, nan), o[6] = max3(nan, 1.0f, 2.0f), o[7] = saturate(nan);
            o[8] = max(half(nan), 1.0h), o[9] = max(float2(nan, 1), float2(3, nan)).x;
            o[10] = simd_max(nan), o[11] = fmin3(nan, 4.0f, nan);
        }
    """)
    o = torch.zeros(12)
    library.k(o, math.nan, threads=1)
    assert o[:5].tolist() == [1, 1, 1, 1, 2]
    assert o[5].isnan() and o[10].isnan()
    assert [*o[6:10].tolist(), o[11].item()] == [2, 0, 1, 3, 4]


@pytest.mark.parametrize("fast_math", [False, True])
def test_precise_and_fast(fast_math: bool) -> None:
    """Unqualified functions are the precise ones unless asked otherwise; the others stay reachable by name."""
    library = compile_shader(
        """
        #include <metal_stdlib>
        using namespace metal;
        kernel void k(device float* o, constant float* x) {
            o[0] = tanh(x[0]), o[1] = precise::tanh(x[0]), o[2] = fast::tanh(x[0]);
            o[3] = pow(x[1], 2.0f), o[4] = precise::pow(x[1], 2.0f), o[5] = fast::pow(x[1], 2.0f);
            o[6] = sin(x[2]) - precise::sin(x[2]), o[7] = fast::sin(x[2]) - precise::sin(x[2]);
            o[8] = fast::exp(1.0f), o[9] = fast::divide(1.0f, 3.0f), o[10] = asinh(x[3]), o[11] = fast::asinh(x[3]);
        }
        """,
        compilation=Compilation(fast_math=fast_math),
    )
    o = torch.zeros(12)
    library.k(o, [100.0, -3.0, 1e6, -1e4], threads=1)
    assert o[1] == 1 and o[4] == 9
    assert o[2].isnan() and o[5].isnan()  # a ratio of infinities; the logarithm of a negative number
    assert o[0].isnan() == o[3].isnan() == fast_math
    assert (o[6] != 0) == fast_math and o[7].abs() > 1e-4
    assert o[8].item() == pytest.approx(math.e, rel=1e-6) and o[9].item() == pytest.approx(1 / 3, rel=1e-6)
    exact = math.asinh(-1e4)
    assert (o[10].item() == pytest.approx(exact, rel=1e-6)) == (not fast_math)
    assert o[11].item() != pytest.approx(exact, rel=1e-3)  # cancellation


def test_subnormals_are_flushed_or_kept() -> None:
    library = compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void k(device float* o, device half* h, constant float* x, constant half* y) {
            o[0] = x[0] > 0, o[1] = x[0] + x[1], o[2] = x[2] * x[2], o[3] = pow(x[0], x[4]), o[4] = log2(x[0]) > -1000;
            o[5] = x[0], o[6] = x[0] / x[3], o[7] = x[0] == x[1], o[8] = bool(x[0]), o[9] = sqrt(x[0]);
            h[0] = y[0] * half(2), h[1] = y[0] + y[1], h[2] = y[0] > 0;
        }
    """)
    x = torch.tensor([1e-40, 0.0, 1e-20, 1.0, 0.25])
    y = torch.tensor([6e-8, 0.0], dtype=torch.half)
    flushed, kept = torch.zeros(2, 10)
    h_flushed, h_kept = torch.zeros(2, 3, dtype=torch.half)
    library.k(flushed, h_flushed, x, y, threads=1)
    library.k(kept, h_kept, x, y, threads=1, launch=KEEP)
    tiny = x[0].item()
    assert flushed.tolist() == [0, 0, 0, 0, 0, tiny, 0, 1, 0, 0]  # what is only moved keeps its bits
    root = torch.pow(x[0], 0.25).item()
    assert kept[:9].tolist() == [1, tiny, (x[2] * x[2]).item(), pytest.approx(root), 1, tiny, tiny, 0, 1]
    assert kept[9].item() == pytest.approx(1e-20, rel=1e-5)
    assert h_flushed.tolist() == h_kept.tolist() == [y[0].item() * 2, y[0].item(), 1]  # half has subnormals


def test_a_sum_of_products_is_fused_only_when_asked() -> None:
    source = """
        kernel void k(device float* o, constant float* x) { o[0] = x[0] * x[1] + x[2]; }
    """
    x = torch.tensor([1 + 2**-13, 1 - 2**-13, -1.0])
    results = []
    for contract in (False, True):
        o = torch.zeros(1)
        compile_shader(source, compilation=Compilation(contract=contract)).k(o, x, threads=1)
        results.append(o.item())
    assert results == [0.0, -(2.0**-26)]


def test_classification_and_bits() -> None:
    library = compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void k(device int* o, constant float* x) {
            o[0] = isnan(x[0]), o[1] = isinf(x[1]), o[2] = isfinite(x[1]), o[3] = signbit(x[2]), o[4] = isnormal(x[3]);
            o[5] = isunordered(x[0], 1.0f), o[6] = isnan(bfloat(x[0])), o[7] = any(isnan(float2(x[0], 1)));
            int e; const float m = frexp(x[4], e);
            o[8] = e, o[9] = int(m * 100), o[10] = ilogb(x[4]), o[11] = int(ldexp(m, e) * 10);
            o[12] = as_type<int>(x[4]), o[13] = as_type<short>(half(1)), o[14] = sign(x[0]) == 0, o[15] = sign(x[1]);
        }
    """)
    o = torch.zeros(16, dtype=torch.int32)
    library.k(o, [math.nan, math.inf, -0.0, 1e-40, 6.5], threads=1, launch=KEEP)
    assert o.tolist() == [1, 1, 0, 1, 0, 1, 1, 1, 3, 81, 2, 65, 0x40D00000, 0x3C00, 1, 1]
