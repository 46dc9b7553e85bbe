"""The interface of torch.mps.compile_shader, on the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pipeline.metal import KernelCrash, Launch, Library, ShaderError, compile_shader

ARANGE = """
kernel void arange(device half* x, uint idx [[thread_position_in_grid]]) { x[idx] = idx; }
"""


def test_runs_over_as_many_threads_as_the_first_tensor_has_elements() -> None:
    x = torch.zeros(12, dtype=torch.half)
    compile_shader(ARANGE).arange(x)
    assert torch.equal(x, torch.arange(12, dtype=torch.half))


def test_lists_host_names() -> None:
    library = compile_shader("""
        template <typename T> kernel void fill(device T* x, constant T& v,
                                                uint i [[thread_position_in_grid]]) { x[i] = v; }
        template [[host_name("fill_float")]] kernel void fill<float>(device float*, constant float&, uint);
        template [[host_name("fill_" "int")]] [[kernel]] void fill<int>(device int*, constant int&, uint);
        template [[host_name("fill_half")]] kernel decltype(fill<half>) fill<half>;
        [[host_name("renamed")]] [[kernel]] void plain(device float* x) { x[0] = 1; }
        kernel void bare(device float* x [[buffer(0)]]) { x[0] = 2; }
    """)
    assert sorted(dir(library)) == ["bare", "fill_float", "fill_half", "fill_int", "renamed"]
    x = torch.zeros(3, dtype=torch.int32)
    library.fill_int(x, 7)
    assert x.tolist() == [7, 7, 7]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_dispatches_in_three_dimensions(axis: int) -> None:
    library = compile_shader(f"""
        kernel void arange(device float* x, uint3 idx [[thread_position_in_grid]]) {{
            x[idx.x + idx.y + idx.z] = idx.{"xyz"[axis]};
        }}
    """)
    x = torch.empty(2500)
    library.arange(x, threads=(*(1,) * axis, 2500))
    assert torch.equal(x, torch.arange(2500.0))


def test_binds_numbers_lists_and_scalar_tensors() -> None:
    library = compile_shader("""
        kernel void arange(device float* x, constant float& start, constant float& step, constant long& factor,
                           constant long* more, uint idx [[thread_position_in_grid]]) {
            x[idx] = (start + idx * step) * factor + more[0] + more[1];
        }
    """)
    x = torch.zeros(12)
    library.arange(x, 3.0, torch.tensor(0.5), 2, [10, 20])
    assert torch.equal(x, torch.arange(3.0, 9.0, 0.5) * 2 + 30)


@pytest.mark.parametrize(
    ("cast", "metal"),
    [("fp16", "half"), ("bf16", "bfloat"), ("int32", "int"), ("int16", "short"), ("int8", "char"), ("uint8", "uchar")],
)
def test_casts_arguments(cast: str, metal: str) -> None:
    library = compile_shader(f"""
        kernel void store(device float* x, constant {metal}* v, constant float& f) {{
            x[0] = float(v[0]), x[1] = float(v[1]), x[2] = f;
        }}
    """)
    x = torch.zeros(3)
    library.store(x, [3, -2], 0.5, threads=1, arg_casts={1: cast})
    assert x.tolist() == [3, 254 if cast == "uint8" else -2, 0.5]


def test_one_cast_for_all_arguments() -> None:
    library = compile_shader("""
        kernel void store(device half* x, constant half2& a, constant half& b) { x[0] = a.x; x[1] = a.y; x[2] = b; }
    """)
    x = torch.zeros(3, dtype=torch.half)
    library.store(x, [1.5, 2.5], 3.5, threads=1, arg_casts="fp16")
    assert x.tolist() == [1.5, 2.5, 3.5]


def test_binds_a_list_of_tensors_as_their_addresses() -> None:
    library = compile_shader("""
        #include <metal_array>
        using namespace metal;
        struct Tensors { array<device float*, 2> data [[id(0)]]; };
        kernel void add_one(constant Tensors& t [[buffer(0)]], uint2 i [[thread_position_in_grid]]) {
            t.data[i.y][i.x] += 1;
        }
    """)
    a, b = torch.zeros(4), torch.ones(4)
    library.add_one([a, b], threads=(4, 2))
    assert (a + b).tolist() == [3, 3, 3, 3]


def test_errors_are_those_of_torch() -> None:
    with pytest.raises(SyntaxError):
        compile_shader("Syntax error")
    library = compile_shader("kernel void full(device half* x) { x[0] = 1.0; }")
    tensor = torch.zeros(3, dtype=torch.half)
    with pytest.raises(RuntimeError, match="Failed to create function state object for: non_existing"):
        library.non_existing(tensor)
    with pytest.raises(RuntimeError, match="Number of threads is undefined"):
        library.full(12)
    with pytest.raises(RuntimeError, match="Empty list/tuple can not be an argument"):
        library.full(tensor, [])
    with pytest.raises(RuntimeError, match="Unsupported argument type"):
        library.full(tensor, "text")
    with pytest.raises(RuntimeError, match="Unsupported cast instruction float128"):
        library.full(tensor, 1, arg_casts="float128")
    with pytest.raises(RuntimeError, match="Unexpected caster arg type float"):
        not_a_cast: Any = 1.5
        library.full(tensor, 1, arg_casts=not_a_cast)
    with pytest.raises(RuntimeError, match="on meta"):
        library.full(tensor.to("meta"))
    with pytest.raises(RuntimeError, match="takes 1 arguments, got 0"):
        library.full(threads=1)
    with pytest.raises(RuntimeError, match="binds 31 arguments, got 32"):
        library.full(*[tensor] * 32)
    with pytest.raises(ValueError, match="size is 0"):
        library.full(tensor, group_size=0)
    limit = library.full.max_threads_per_threadgroup
    with pytest.raises(ValueError, match=f"Threadgroup size exceeds {limit} limit"):
        library.full(tensor, group_size=limit + 5)
    with pytest.raises(ValueError, match="Threadgroup size exceeds"):
        library.full(tensor, threads=(3, limit), group_size=(3, limit))
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        library.full(tensor, threads=(3, 1), group_size=3)
    for threads in ((1, 1, 1, 1), (), -1, 2**32):
        with pytest.raises(RuntimeError, match="threads takes one to three numbers"):
            library.full(tensor, threads=threads)


def test_compiler_errors_point_into_the_shader() -> None:
    with pytest.raises(ShaderError) as caught:
        compile_shader("\n\nkernel void k(device float* x) {\n  x[0] = undeclared;\n}\n")
    assert (caught.value.filename, caught.value.lineno) == ("program_source", 4)
    assert "undeclared" in str(caught.value)


def test_the_standard_library_has_to_be_included() -> None:
    source = "\nusing namespace metal;\nkernel void k(device float* x) { x[0] = sin(x[0]); }"
    with pytest.raises(ShaderError, match=r"program_source:2:1: error: #include <metal_stdlib> is missing"):
        compile_shader(source)
    compile_shader(f"#include <metal_stdlib>{source}")


def test_errors_in_headers_lead_back_to_the_shader() -> None:
    source = """#include <c10/metal/indexing.h>
        struct half_functor { template <typename T> inline T operator()(const T x) { return x.nothing; } };
        struct other_functor {};

        REGISTER_UNARY_OP(half, float, float);
        REGISTER_UNARY_OP(other, float, float);
    """
    with pytest.raises(ShaderError) as caught:
        compile_shader(source, name="mine.metal")
    error = caught.value
    assert error.filename == "mine.metal"
    assert error.lineno in (2, 6)
    places = {
        (item.file.rsplit("/")[-1], item.line if item.origin is None else item.origin) for item in error.diagnostics
    }
    assert {("mine.metal", 2), ("utils.h", 6)} <= places


@pytest.mark.parametrize(
    ("body", "signal"),
    [
        ("x[long(1) << 40] = 1;", "memory that is not there"),
        ("while (true) x[0] += 1;", "still running"),
        ("__builtin_trap();", "SIG"),
    ],
)
def test_a_crash_is_an_exception_and_the_next_launch_works(body: str, signal: str) -> None:
    library = compile_shader(
        f"kernel void bad(device float* x, uint i [[thread_position_in_grid]]) {{ if (i > 4) {{ {body} }} }} {ARANGE}"
    )
    with pytest.raises(KernelCrash, match=signal):
        library.bad(torch.zeros(64), launch=Launch(timeout=0.3))
    x = torch.zeros(12, dtype=torch.half)
    library.arange(x)
    assert torch.equal(x, torch.arange(12, dtype=torch.half))


def test_compiles_only_what_is_asked_for() -> None:
    source = """
        template <typename T> kernel void fill(device T* x) { x[0] = 1; }
        template [[host_name("fill_float")]] kernel void fill<float>(device float*);
        template [[host_name("fill_int")]] kernel void fill<int>(device int*);
    """
    library: Library = compile_shader(source, only="_int$")
    assert dir(library) == ["fill_int"]


def test_errors_of_a_kernel_are_raised() -> None:
    library = compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        #include <c10/metal/error.h>
        kernel void look(device float* x, constant long& i, device c10::metal::ErrorMessages* errors [[buffer(3)]]) {
            if (i >= 3) {
                TORCH_REPORT_ERROR(errors, "index ", i, " is out of bounds");
                return;
            }
            x[i] = 1;
        }
    """)
    x = torch.zeros(3)
    library.look(x, 2, threads=1, error_buf_idx=3)
    assert x.tolist() == [0, 0, 1]
    with pytest.raises(torch.AcceleratorError, match=r"index 7 is out of bounds \(look at program_source:7\)"):
        library.look(x, 7, threads=1, error_buf_idx=3)
