"""Address spaces are kept apart although the CPU has one memory."""

from __future__ import annotations

import pytest
import torch

from pipeline.metal import ShaderError, compile_shader
from pipeline.metal.spaces import space_errors

SOURCE = """#include <metal_stdlib>
using namespace metal;
struct Params {{ float scale; float3 v; array<float, 3> list; }};
inline float from_constant(constant float* p) {{ return *p; }}
inline float from_device(device const float* p) {{ return *p; }}
inline float from_thread(thread float* p) {{ return *p; }}
inline void add(device float& x, float y) {{ x += y; }}
template <typename T> inline T load(constant T* p, uint i) {{ return p[i]; }}
template <typename T> inline T load(device T* p, uint i) {{ return p[i]; }}
template <typename T> struct Box {{ thread T& get() {{ return value; }} T value; }};
constant float table[4] = {{1, 2, 3, 4}};
kernel void k(device float* o, constant float* a, constant Params& p, device bfloat* b,
              uint i [[thread_position_in_grid]]) {{
    threadgroup float t[4];
    t[0] = 0;
    {statement}
}}
"""

WRONG = {
    "constant for device": "o[i] = from_device(a);",
    "device for constant": "o[i] = from_constant(o);",
    "device for thread": "o[i] = from_thread(o);",
    "threadgroup for thread": "o[i] = from_thread(t);",
    "thread for constant": "float x = 1; o[i] = from_constant(&x);",
    "pointer variables": "device const float* q = a; o[i] = *q;",
    "threadgroup to device": "device float* q = t; q[0] = 1;",
    "references": "add(t[0], 1);",
    "casts": "o[i] = *(constant float*)o;",
    "reinterpret_cast": "o[i] = *reinterpret_cast<device int*>(t);",
    "a table": "device const float* q = table; o[i] = *q;",
    "inside a template": "Box<float> x; x.value = 1; o[i] = from_device(&x.get());",
    "constant written": "const_cast<device float*>(a)[0] = 1;",
}

RIGHT = """
    float x = 1; x += from_thread(&x); o[i] = from_constant(a) + from_device(o) + x;
    device float* q = o + 1; constant float* c = a; threadgroup float* s = t; add(q[0], c[0]); s[0] = c[1];
    o[2] = load(a, 1) + load(o, 1) + p.scale + p.v.x + p.list[i] + table[i]; const Params mine = p; o[3] = mine.v.y;
    Box<float> box; box.get() = 2; o[4] = box.get(); b[0] = a[0] > 0 ? b[1] : b[2]; float3 v = p.v; v += p.v;
    o[5] = *reinterpret_cast<device float*>(reinterpret_cast<device char*>(o) + 4); o[6] = v.x;
"""


@pytest.mark.parametrize("name", WRONG)
def test_pointers_do_not_change_their_space(name: str) -> None:
    with pytest.raises(ShaderError) as caught:
        compile_shader(SOURCE.format(statement=WRONG[name]))
    assert caught.value.lineno == 16
    assert "__" not in str(caught.value)


def test_what_metal_accepts_compiles() -> None:
    compile_shader(SOURCE.format(statement=RIGHT))


def test_constant_memory_is_not_written() -> None:
    with pytest.raises(ShaderError, match="read-only"):
        compile_shader("kernel void k(constant float* a) { a[0] = 1; }")
    with pytest.raises(ShaderError):
        compile_shader("constant int n = 1; kernel void k(device int* o) { n = 2; }")


def test_overloads_by_space_are_chosen_by_space() -> None:
    library = compile_shader("""
        inline int which(constant int*) { return 1; }
        inline int which(device int*) { return 2; }
        kernel void k(device int* o, constant int* a) { o[0] = which(a); o[1] = which(o); }
    """)
    o = torch.zeros(2, dtype=torch.int32)
    library.k(o, o, threads=1)
    assert o.tolist() == [1, 2]


def test_only_errors_about_spaces_count() -> None:
    """Of a compiler's complaints about the other language, two types that differ by space are all that matters."""
    output = "\n".join(
        [
            "x.metal:1:2: error: cannot initialize a variable of type '__global float *__private' with an lvalue "
            "of type '__constant float *__private'",
            "x.metal:2:2: error: incompatible operand types ('const __global bfloat' and '__private bfloat')",
            "x.metal:3:2: error: no matching function for call to 'f'",
            "y.h:1:1: note: candidate template ignored: substitution failure [with T = float]",
            "x.metal:4:2: error: no matching function for call to 'g'",
            "y.h:2:1: note: candidate function not viable: requires 3 arguments, but 1 was provided",
            "y.h:3:1: note: candidate function not viable: cannot pass pointer to address space '__global' as a "
            "pointer to address space '__constant' in 1st argument",
            "x.metal:6:2: error: no matching function for call to 'h'",
            "y.h:4:1: note: candidate function not viable: no known conversion from 'Box' to 'float' for 2nd argument",
            "y.h:5:1: note: candidate function not viable: cannot pass pointer to address space '__global' as a "
            "pointer to address space '__constant' in 1st argument",
            "x.metal:5:2: error: binding reference of type '__private vec<...>' to value of type '__generic vec<...>' "
            "changes address space",
        ]
    )
    found = [(error.line, error.message) for error in space_errors(output)]
    assert [number for number, _ in found] == [1, 4]
    assert found[0][1].endswith("'device float *' with an lvalue of type 'constant float *'")
