"""Scalars and vectors of the language: rounding, conversions, literals, layout."""

from __future__ import annotations

import pytest
import torch

from pipeline.metal import Launch, Library, ShaderError, compile_shader

NAMES = {torch.float16: "half", torch.bfloat16: "bfloat"}


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bits of 16-bit numbers, with one NaN for all."""
    return torch.where(tensor.isnan(), torch.tensor(0x7FFF, dtype=torch.int16), tensor.view(torch.int16))


@pytest.fixture(scope="module")
def narrow() -> Library:
    return compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        template <typename T> kernel void arithmetic(device T* o, constant T* a, constant T* b, constant long& n,
                                                     uint i [[thread_position_in_grid]]) {
            o[i] = a[i] + b[i];
            o[n + i] = a[i] - b[i];
            o[2 * n + i] = a[i] * b[i];
            o[3 * n + i] = a[i] / b[i];
            o[4 * n + i] = (a[i] * b[i] + a[i]) * b[i] - a[i] / T(3);
            T c = a[i];
            c += b[i], c *= b[i], c -= a[i];
            o[5 * n + i] = -c;
        }
        template [[host_name("arithmetic_half")]] kernel void arithmetic<half>(device half*, constant half*,
            constant half*, constant long&, uint);
        template [[host_name("arithmetic_bfloat")]] kernel void arithmetic<bfloat>(device bfloat*, constant bfloat*,
            constant bfloat*, constant long&, uint);
        template <typename T> kernel void convert(device T* from_float, device float* to_float, device T* from_int,
                constant float* f, constant T* t, constant int* n, uint i [[thread_position_in_grid]]) {
            from_float[i] = static_cast<T>(f[i]);
            to_float[i] = t[i];
            from_int[i] = T(n[i]);
        }
        template [[host_name("convert_half")]] kernel decltype(convert<half>) convert<half>;
        template [[host_name("convert_bfloat")]] kernel decltype(convert<bfloat>) convert<bfloat>;
        kernel void between(device half* h, device bfloat* b, uint i [[thread_position_in_grid]]) {
            const half was = h[i];
            h[i] = static_cast<half>(b[i]);
            b[i] = bfloat(was);
        }
    """)


@pytest.mark.parametrize("dtype", NAMES)
def test_every_operation_rounds(narrow: Library, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-(2**15), 2**15, (20_000,), generator=generator).short().view(dtype) for _ in range(2))
    out = torch.empty(6, len(a), dtype=dtype)
    getattr(narrow, f"arithmetic_{NAMES[dtype]}")(
        out, a, b, len(a), threads=len(a), launch=Launch(flush_subnormals=False)
    )
    steps = ((a + b) * b) - a
    expected = [a + b, a - b, a * b, a / b, (a * b + a) * b - a / torch.tensor(3, dtype=dtype), -steps]
    for got, right in zip(out, expected, strict=True):
        assert torch.equal(bits(got), bits(right))


@pytest.mark.parametrize("dtype", NAMES)
def test_conversions_round_to_nearest_even(narrow: Library, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(2)
    every = torch.arange(2**16).to(torch.int16).view(dtype)
    floats = torch.randint(-(2**31), 2**31, (2**16,), generator=generator).int().view(torch.float32)
    halfway = (every.float().view(torch.int32) + (0x1000 if dtype is torch.float16 else 0x8000)).view(torch.float32)
    floats = torch.where(torch.rand(2**16, generator=generator) < 0.5, floats, halfway)
    numbers = torch.randint(-(2**31), 2**31, (2**16,), generator=generator).int()
    from_float, from_int, to_float = torch.empty_like(every), torch.empty_like(every), torch.empty(2**16)
    getattr(narrow, f"convert_{NAMES[dtype]}")(from_float, to_float, from_int, floats, every, numbers)
    assert torch.equal(bits(from_float), bits(floats.to(dtype)))
    assert torch.equal(to_float.nan_to_num(7.0), every.float().nan_to_num(7.0))
    assert torch.equal(bits(from_int), bits(numbers.float().to(dtype)))


def test_half_and_bfloat_convert_into_each_other_explicitly(narrow: Library) -> None:
    h = torch.tensor([1.5, 65504.0, -3.140625, float("inf")], dtype=torch.half)
    b = torch.tensor([2.5, 1e-3, -1e30, float("nan")], dtype=torch.bfloat16)
    h_out, b_out = h.clone(), b.clone()
    narrow.between(h_out, b_out)
    assert torch.equal(bits(h_out), bits(b.to(torch.half)))
    assert torch.equal(bits(b_out), bits(h.to(torch.bfloat16)))


BODY = """
#include <metal_stdlib>
using namespace metal;
kernel void k(device float* o, device half* h, device bfloat* b, device int* n, device float2* v) {{
    {statement}
}}
"""


@pytest.mark.parametrize(
    "statement",
    [
        "b[0] = 1.0f;",
        "b[0] = o[0];",
        "b[0] = h[0];",
        "h[0] = b[0];",
        "b[0] = metal::max(b[0], b[1]);",  # the math library has no bfloat: the result is a float
        "b[0] = metal::sqrt(b[0]);",
        "b[0] += 1.0f;",
        "b[0] = b[0] + h[0];",
        "int2 i = v[0];",
        "half2 x = v[0];",
        "n[0] = v[0];",
        "double d = 1;",
        "o[0] = metal::max(1, 1.0f);",
        "o[0] = metal::sin(n[0]);",
        "v[0].xx = float2(1);",
        "o[0] = as_type<float>(h[0]);",
        "o[0] = simd_sum(long(1));",
        "simd_shuffle(ulong(1), 1);",
        "b[0] = simd_sum(b[0]);",
    ],
)
def test_what_metal_does_not_convert_does_not_compile(statement: str) -> None:
    with pytest.raises(ShaderError):
        compile_shader(BODY.format(statement=statement))


def test_what_metal_converts_compiles() -> None:
    statements = """
        b[0] = 1; b[1] = n[0]; o[0] = b[0]; h[0] = 1.5; h[1] = o[0]; h[2] = n[0]; o[1] = h[0];
        b[2] = b[0] + 1; b[3] = -b[1]; o[2] = b[0] + 1.0f; o[3] = metal::sqrt(b[0]); bool t = b[0]; n[0] = t;
        b[4] = bfloat(o[0]); b[5] = static_cast<bfloat>(h[0]); b[6] = t ? b[0] : 0; o[4] = t ? b[0] : 1.0f;
        v[0] = 1; v[1] = v[0] * 2; v[2] = b[0] * v[0]; v[3] = float2(int2(1, 2)); o[5] = metal::pow(o[0], 2);
        n[1] = b[0] < 2 && b[0] == b[1]; n[2] = int(b[0]); o[6] = metal::max(h[0], h[1]); b[7]++;
    """
    compile_shader(BODY.format(statement=statements))


def test_literals_are_floats() -> None:
    library = compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        template <typename A, typename B> constexpr bool same() { return is_same_v<A, B>; }
        kernel void k(device int* o, device float* f) {
            o[0] = same<decltype(1.0), float>() && same<decltype(.5), float>() && same<decltype(1e3), float>() &&
                   same<decltype(1.), float>() && same<decltype(0x1p3), float>() && same<decltype(1.0 * 2), float>();
            o[1] = same<decltype(1.0h), half>() && same<decltype(1e2H), half>() && same<decltype(2.5bf), bfloat>();
            o[2] = same<decltype(1), int>() && same<decltype(1u), uint>() && same<decltype(1l), long>() &&
                   same<decltype(0x1F), int>() && same<decltype(0xffffffff), uint>();
            f[0] = 0.1 + 0.2;
            f[1] = 16777217.0;
            f[2] = (1.0 + 1e-8) - 1.0;
        }
    """)
    o, f = torch.zeros(3, dtype=torch.int32), torch.zeros(3)
    library.k(o, f, threads=1)
    assert o.tolist() == [1, 1, 1]
    assert f.tolist() == [(torch.tensor(0.1) + torch.tensor(0.2)).item(), 16777216.0, 0.0]


def test_sizes_and_alignments() -> None:
    library = compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        struct S { half h; float3 v; packed_float3 p; bfloat b; bool3 m; };
        kernel void k(device int* o) {
            o[0] = sizeof(float3), o[1] = alignof(float3), o[2] = sizeof(packed_float3), o[3] = alignof(packed_float3);
            o[4] = sizeof(half3), o[5] = sizeof(bfloat2), o[6] = sizeof(long4), o[7] = sizeof(bool4);
            o[8] = sizeof(S), o[9] = sizeof(atomic_bool), o[10] = sizeof(ulong), o[11] = sizeof(simdgroup_float8x8);
            o[12] = sizeof(float4x4), o[13] = sizeof(float3x3), o[14] = char(200), o[15] = sizeof(uchar3);
        }
    """)
    o = torch.zeros(16, dtype=torch.int32)
    library.k(o, threads=1)
    assert o.tolist() == [16, 16, 12, 4, 8, 4, 32, 4, 64, 4, 8, 8, 64, 48, -56, 4]


def test_components_of_vectors() -> None:
    library = compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void k(device float4* o) {
            float4 v(1, 2, 3, 4);
            o[0] = v.wzyx;
            o[1] = float4(v.xy, v.ba);
            v.xz = float2(10, 30);
            o[2] = v;
            v.zw += v.xx;
            v.rgb *= 2;
            o[3] = v;
            o[4] = float4(float3(1), v.w);
            o[5] = select(float4(1), float4(2), v > 40.0f);
            v[1] = 7;
            o[6] = v;
            packed_float3 p = v.xyz;
            o[7] = float4(p[0], p[1], p[2], dot(float3(p), float3(1)));
            o[8] = float4(1);
            o[8] += v, o[8] *= 2, o[8] -= float4(0, 0, 0, 1);
            int2 n(12, 7);
            n %= 5, n <<= 2, n |= int2(1), ++n;
            o[9] = float4(n.x, n.y, ~n.x, all(n == int2(10, 10)));
        }
    """)
    o = torch.zeros(10, 4)
    library.k(o, threads=1)
    assert o.tolist() == [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [10, 2, 30, 4],
        [20, 4, 80, 14],
        [1, 1, 1, 14],
        [1, 1, 2, 1],
        [20, 7, 80, 14],
        [20, 7, 80, 107],
        [42, 16, 162, 29],
        [10, 10, -11, 1],
    ]


def test_integers_wrap_and_never_trap() -> None:
    library = compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void k(device int* o, device long* w, constant int* a, constant long* l, device uint* u) {
            o[0] = a[0] + 1, o[1] = a[1] - 1, o[2] = a[0] * 2, o[3] = -a[1], o[4] = abs(a[1]);
            o[5] = a[1] / a[2], o[6] = a[1] % a[2];
            o[7] = a[4] / a[3], o[8] = a[4] % a[3];
            w[0] = l[0] / l[1], w[1] = l[0] % l[1], w[2] = l[0] / l[2], w[3] = l[0] - 1;
            u[0] = uint(a[4]) / uint(a[3]), u[1] = uint(a[4]) % uint(a[3]);
            o[9] = char(uchar(200)) / char(a[3]), o[10] = short(a[4]) % short(a[3]);
            o[11] = popcount(a[2]), o[12] = clz(a[4]), o[13] = ctz(0), o[14] = mulhi(a[0], a[0]);
            o[15] = int(rotate(uint(a[2]), 4u)), o[16] = extract_bits(a[2], 4u, 8u), o[17] = addsat(a[0], 5);
            o[18] = subsat(a[1], 5), o[19] = int(absdiff(a[1], a[0])), o[20] = reverse_bits(1);
            o[21] = hadd(a[0], a[0]);
        }
    """)
    highest, lowest = 2**31 - 1, -(2**31)
    a = torch.tensor([highest, lowest, -1, 0, 17], dtype=torch.int32)
    long = torch.tensor([-(2**63), -1, 0])
    o, w, u = torch.zeros(22, dtype=torch.int32), torch.zeros(4, dtype=torch.int64), torch.zeros(2, dtype=torch.uint32)
    library.k(o, w, a, long, u, threads=1)
    assert o[:7].tolist() == [lowest, highest, -2, lowest, lowest, lowest, 0]
    assert o[7:9].tolist() == [-1, 17]  # x / 0 has all bits set, x % 0 is x
    assert w.tolist() == [-(2**63), 0, -1, 2**63 - 1]
    assert u.tolist() == [2**32 - 1, 17]
    assert o[9:11].tolist() == [-1, 17]
    assert o[11:].tolist() == [32, 27, 32, 2**30 - 1, -1, -1, highest, lowest, -1, lowest, highest]


@pytest.mark.parametrize("metal_type", ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"])
def test_division_by_zero_in_every_operand_form(metal_type: str) -> None:
    """The trap is emulated instruction by instruction: registers, memory operands, all widths."""
    library = compile_shader(f"""
        kernel void k(device {metal_type}* o, constant {metal_type}* a, constant {metal_type}* b, constant long& n,
                      uint i [[thread_position_in_grid]]) {{
            o[i] = a[i] / b[i];
            o[n + i] = a[i] % b[i];
        }}
    """)
    dtype = {
        "char": torch.int8, "uchar": torch.uint8, "short": torch.int16, "ushort": torch.uint16, "int": torch.int32,
        "uint": torch.uint32, "long": torch.int64, "ulong": torch.uint64,
    }[metal_type]  # fmt: skip
    a = torch.arange(1, 101).to(dtype)
    b = torch.zeros(100, dtype=dtype)
    b[::2] = 3
    out = torch.zeros(2, 100, dtype=dtype)
    report = library.k(out, a, b, 100, threads=100)
    all_bits = torch.tensor(-1).to(dtype).item()
    first, second = out[0].tolist(), out[1].tolist()
    assert first[::2] == [v // 3 for v in range(1, 101, 2)]
    assert second[::2] == [v % 3 for v in range(1, 101, 2)]
    assert first[1::2] == [all_bits if metal_type not in ("uchar", "ushort") else first[1]] * 50
    assert second[1::2] == list(range(2, 101, 2))
    assert report.events
