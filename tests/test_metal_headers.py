"""The headers of the installed torch: all compile unmodified, and kernels of every form in them run, checked.

`METAL_HEADERS` names another folder of headers, such as that of a newer torch.
"""

from __future__ import annotations

import os
import struct
from functools import partial
from pathlib import Path

import pytest
import torch

from pipeline.metal import Compilation, Launch, Library, Note, Report
from pipeline.metal import compile_shader as compile_shader_of

INCLUDE = Path(os.environ.get("METAL_HEADERS", Path(torch.__file__).parent / "include"))
PRELUDE = """
#include <metal_stdlib>
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>
using namespace metal;
#include <c10/metal/common.h>
#include <c10/metal/utils.h>
"""
CHECKED = Compilation(checked=True)
compile_shader = partial(compile_shader_of, include=[INCLUDE])
NEEDS = {"Gemv.h": "#include <ATen/native/mps/kernels/LinearAlgebra.h>\n"}


def headers() -> list[str]:
    folders = ("c10/metal", "ATen/native/mps/kernels")
    return sorted(str(path.relative_to(INCLUDE)) for folder in folders for path in (INCLUDE / folder).glob("*.h"))


def test_there_are_headers_to_test() -> None:
    assert len(headers()) > 25


@pytest.mark.parametrize("metal_version", [310, 400])
@pytest.mark.parametrize("header", headers())
def test_every_header_compiles(header: str, metal_version: int) -> None:
    if metal_version == 400 and header.startswith("ATen") and "Sort" not in header:
        pytest.skip("the newer language changes the c10 headers and IF_CONSTEXPR, which the sorts use")
    source = f"{PRELUDE}{NEEDS.get(Path(header).name, '')}#include <{header}>\nkernel void probe(device float* o) {{}}"
    library = compile_shader(source, only="^probe$", compilation=Compilation(metal_version=metal_version))
    assert dir(library) == ["probe"]


def clean(report: Report) -> None:
    assert not report.events, str(report)


def test_registered_operators_run_in_every_flavour() -> None:
    library = compile_shader(
        f"""{PRELUDE}
        #include <c10/metal/indexing.h>
        struct twice_functor {{ template <typename T> inline T operator()(const T x) {{ return T(x + x); }} }};
        struct minus_functor {{ template <typename T> T operator()(const T a, const T b) {{ return T(a - b); }} }};
        struct scaled_functor {{
            template <typename T, typename T2> inline T operator()(const T a, const T2 s) {{ return T(a * s); }}
        }};
        REGISTER_UNARY_OP(twice, float, float);
        REGISTER_UNARY_OP(twice, half2, half2);
        REGISTER_BINARY_OP(minus, long, long);
        REGISTER_UNARY_ALPHA_OP(scaled, bfloat, float, bfloat);
        """,
        compilation=CHECKED,
    )
    names = set(dir(library))
    unary = {"dense", "dense_scalar", "strided"}
    assert {f"twice_{flavour}_float_float" for flavour in unary} <= names
    assert {"twice_dense_castout_float", "twice_strided_castout_half2", "scaled_dense_bfloat_bfloat_float"} <= names
    assert {f"minus_{flavour}_long_long" for flavour in ("dense", "dense_cast", "strided", "dense_scalar_lhs")} <= names
    x = torch.randn(10)
    o = torch.empty(10)
    clean(library.twice_dense_float_float(o, x, 10, threads=3))
    assert torch.equal(o, x + x)
    matrix, turned = torch.randn(3, 4), torch.empty(4, 3)
    strides = [s * 4 for s in reversed(matrix.t().stride())], [s * 4 for s in reversed(turned.stride())]
    clean(library.twice_strided_float_float(turned, matrix, [3, 4], *strides, [2], threads=(3, 4)))
    assert torch.equal(turned, matrix.t() * 2)
    a, b, d = torch.arange(5), torch.arange(5) * 3, torch.empty(5, dtype=torch.int64)
    clean(library.minus_dense_long_long(d, a, b))
    assert torch.equal(d, a - b)
    h = torch.randn(4).to(torch.bfloat16)
    s = torch.empty_like(h)
    clean(library.scaled_dense_bfloat_bfloat_float(s, h, 1.5))
    assert torch.equal(s, (h.float() * 1.5).to(torch.bfloat16))


@pytest.fixture(scope="module")
def rows() -> Library:
    reductions = {"sum": "threadgroup_sum<float>", "prod": "threadgroup_prod<float>"}
    kernels = "\n".join(
        f"""kernel void row_{name}(device float* o, constant float* x, LOCAL) {{
            threadgroup float shared[32];
            const float value = {function}(shared, x[g * n + i], i, n);
            if (i == 0) o[g] = value;
        }}"""
        for name, function in reductions.items()
    )
    return compile_shader(
        f"""{PRELUDE}
        #include <c10/metal/reduction_utils.h>
        #include <c10/metal/random.h>
        #include <c10/metal/atomic.h>
        #include <c10/metal/error.h>
        using namespace c10::metal;
        #define LOCAL uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]], \\
                      uint g [[threadgroup_position_in_grid]]
        {kernels}
        kernel void row_max(device float* o, constant float* x, LOCAL) {{
            threadgroup float shared[32];
            const float value = threadgroup_max(shared, x[g * n + i], i, n);
            if (i == 0) o[g] = value;
        }}
        kernel void row_sum_long(device long* o, constant long* x, LOCAL) {{
            threadgroup long shared[32];
            const long value = threadgroup_sum<long>(shared, x[g * n + i], i, n);
            if (i == 0) o[g] = value;
        }}
        kernel void row_argmax(device int* o, constant float* x, LOCAL) {{
            threadgroup float values[32];
            threadgroup int indices[32];
            const int at = threadgroup_argmax(values, indices, x[g * n + i], int(i), i, n);
            if (i == 0) o[g] = at;
        }}
        kernel void philox(device uint4* o, constant long& seed, constant long& index) {{
            o[0] = philox4::rand(seed, index);
        }}
        kernel void normal(device float* o, uint i [[thread_position_in_grid]]) {{ o[i] = c10::metal::randn(7, i); }}
        template <typename T> kernel void add_to(device AtomicType_t<T>* o, constant T* x, constant int* at,
                                                 uint i [[thread_position_in_grid]]) {{
            AtomicType<T>::atomic_add(o, at[i], x[i]);
        }}
        template [[host_name("add_to_half")]] kernel decltype(add_to<half>) add_to<half>;
        template [[host_name("add_to_bool")]] kernel decltype(add_to<bool>) add_to<bool>;
        template [[host_name("add_to_long")]] kernel decltype(add_to<long>) add_to<long>;
        template [[host_name("add_to_float2")]] kernel decltype(add_to<float2>) add_to<float2>;
        template [[host_name("add_to_half2")]] kernel decltype(add_to<half2>) add_to<half2>;
        template [[host_name("add_to_bfloat")]] kernel decltype(add_to<bfloat>) add_to<bfloat>;
        template [[host_name("add_to_char")]] kernel decltype(add_to<char>) add_to<char>;
        template [[host_name("add_to_uchar")]] kernel decltype(add_to<uchar>) add_to<uchar>;
        template [[host_name("add_to_short")]] kernel decltype(add_to<short>) add_to<short>;
        template [[host_name("add_to_int")]] kernel decltype(add_to<int>) add_to<int>;
        template [[host_name("add_to_float")]] kernel decltype(add_to<float>) add_to<float>;
        kernel void complain(device ErrorMessages* e, uint i [[thread_position_in_grid]]) {{
            if (i == 3) TORCH_REPORT_ERROR(e, "index ", long(i) - 20, " is wrong");
        }}
        """,
        compilation=CHECKED,
    )


@pytest.mark.parametrize("size", [32, 96, 1024])
def test_reductions_over_a_threadgroup(rows: Library, size: int) -> None:
    x = torch.randn(3, size) * 0.1 + 1
    o = torch.empty(3)
    for name, right in (("sum", x.sum(1)), ("prod", x.prod(1)), ("max", x.amax(1))):
        clean(getattr(rows, f"row_{name}")(o, x, threads=3 * size, group_size=size))
        torch.testing.assert_close(o, right, rtol=1e-4, atol=1e-6)
    index = torch.empty(3, dtype=torch.int32)
    clean(rows.row_argmax(index, x, threads=3 * size, group_size=size))
    assert torch.equal(index, x.argmax(1).int())
    numbers = torch.randint(-(2**40), 2**40, (3, size))
    total = torch.empty(3, dtype=torch.int64)
    report = rows.row_sum_long(total, numbers, threads=3 * size, group_size=size)
    assert torch.equal(total, numbers.sum(1))
    # reduction_utils.h says so itself: with fewer than 32 simdgroups it shuffles from lanes that take no part.
    assert report.has(Note.INACTIVE_LANE_READ) == (size == 96)


def philox(counter: list[int], key: list[int], rounds: int) -> list[int]:
    """Philox4x32 (Salmon et al., SC11)."""
    for _ in range(rounds):
        low, high = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [high >> 32 ^ counter[1] ^ key[0], high % 2**32, low >> 32 ^ counter[3] ^ key[1], low % 2**32]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return counter


def test_random_numbers_are_philox(rows: Library) -> None:
    assert philox([0] * 4, [0] * 2, 10) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # a known answer
    for seed, index in ((0, 0), (2**40 + 7, 2**35 + 3)):
        o = torch.zeros(4, dtype=torch.int32)
        clean(rows.philox(o, seed, index, threads=1))
        # random.h makes one round fewer than the ten it names, and puts the upper half of a number first.
        expected = philox([0, 0, index >> 32, index % 2**32], [seed >> 32, seed % 2**32], 9)
        assert [value % 2**32 for value in o.tolist()] == expected
    x = torch.empty(20_000)
    clean(rows.normal(x))
    assert abs(x.mean()) < 0.03 and abs(x.std() - 1) < 0.03


def test_atomic_additions_to_every_kind_of_element(rows: Library) -> None:
    at = torch.tensor([0, 1, 1, 2, 5, 5, 5], dtype=torch.int32)
    dtypes = {
        "half": torch.half, "bfloat": torch.bfloat16, "float": torch.float32, "float2": torch.complex64,
        "half2": torch.complex32, "bool": torch.bool, "char": torch.int8, "uchar": torch.uint8, "short": torch.int16,
        "int": torch.int32, "long": torch.int64,
    }  # fmt: skip
    for name, dtype in dtypes.items():
        x = torch.arange(1, 8).to(dtype)
        o = torch.zeros(8, dtype=dtype)
        clean(getattr(rows, f"add_to_{name}")(o, x, at, threads=7))
        expected = torch.zeros(8, dtype=dtype)
        for index, value in zip(at.tolist(), x, strict=True):
            expected[index] += value
        assert torch.equal(o.view(torch.uint8), expected.view(torch.uint8)), name


def test_errors_reach_their_buffer(rows: Library) -> None:
    buffer = torch.zeros(4 + 30 * 512, dtype=torch.uint8)
    clean(rows.complain(buffer, threads=8, group_size=8))
    data = bytes(buffer.tolist())
    assert data[:4] == b"\x01\0\0\0"
    assert data[4:].startswith(b"program_source\0")
    assert b"complain\0" in data
    assert b"index -17 is wrong\0" in data


def test_block_sort() -> None:
    source = f"{PRELUDE}#include <ATen/native/mps/kernels/SortMerge.h>\n"
    library = compile_shader(source, only="^sort_block_float_tptg32(_stable)?$", compilation=CHECKED)
    x = torch.randn(3, 100)
    x[0, 7] = float("nan")
    x.view(-1)[::5] = 1.0
    for name in dir(library):
        values, indices = torch.empty_like(x), torch.empty(x.shape, dtype=torch.int64)
        sizes, flag = struct.pack("i", 100), struct.pack("?", False)
        clean(getattr(library, name)(x, values, indices, sizes, [1, 100], flag, threads=(32, 3), group_size=(32, 1)))
        expected = torch.sort(x, dim=1, stable=True)
        assert torch.equal(values.nan_to_num(9e9), expected.values.nan_to_num(9e9))
        assert torch.equal(x.gather(1, indices).nan_to_num(9e9), values.nan_to_num(9e9))


@pytest.mark.parametrize("order", ["forward", "shuffled"])
def test_attention_with_simdgroup_matrices(order: str) -> None:
    source = f"{PRELUDE}#include <ATen/native/mps/kernels/PrefillAttention.h>\n"
    name = "prefill_attention_float32_bq32_bk32_bd64_wm4_wn1_hm0_dc1_maskfloat32"
    library = compile_shader(source, only=f"^{name}$", compilation=CHECKED)
    heads, length, width = 2, 70, 64
    q, k, v = (torch.randn(1, heads, length, width) for _ in range(3))
    o = torch.full_like(q, float("nan"))
    strides = (*q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *o.stride()[:3])
    wide = (
        "int64_t Q_strides" in (INCLUDE / "ATen/native/mps/kernels/PrefillAttention.h").read_text()
    )  # since torch 2.14
    form = "6i2f12q" if wide else "6i2f12i"
    parameters = struct.pack(form, 1, heads, width, length, length, 1, width**-0.5, 1.0, *strides)
    launch = Launch(order=order)  # type: ignore[arg-type]
    report = getattr(library, name)(
        q, k, v, o, parameters, bytes(32), torch.zeros(4),
        threads=((length + 31) // 32 * 128, heads, 1), group_size=(128, 1, 1), launch=launch,
    )  # fmt: skip
    clean(report)
    torch.testing.assert_close(o, torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))
