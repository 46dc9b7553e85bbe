"""What a shader registers, told without compiling it, is what compiling it gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.metal import ShaderError, compile_shader
from pipeline.metal.listing import Argument, list_kernels

FRAGMENTS = Path(__file__).parent.parent / "kernels"

TYPES = """\
#include <c10/metal/common.h>
#include <metal_stdlib>
using namespace metal;

template <typename T>
struct Pair {
  T first;
  T second;
};
struct Mixed {
  bool flag;
  uint3 sizes;
  half scale;
  packed_float3 origin;
};
struct Nested {
  Pair<long> pair;
  Mixed mixed[2];
  c10::metal::array<uint, 3> counts;
  float a, b;
  float total() const {
    return a + b;
  }
};
enum class Mode : uchar { plain, tanh };
typedef Pair<half> PairOfHalf;
using Numbers = ::metal::array<short, 5>;
struct Modes {
  Mode mode;
  unsigned int count;
  device float* data;
};
"""
NAMES = [
    *("bool", "char", "ushort", "half", "bfloat", "int", "float", "long", "ulong"),
    *("uint2", "float3", "uint3", "half4", "packed_half3", "packed_uint2", "bool2"),
    *(
        "Pair<float>",
        "Pair<long>",
        "Pair<uint3>",
        "Pair<Pair<half>>",
        "Mixed",
        "Nested",
        "PairOfHalf",
        "Numbers",
        "Modes",
    ),
]


def shader() -> str:
    kernels = [
        f"kernel void k{index}(constant {name}& given [[buffer(0)]], device float* out [[buffer(1)]]) {{\n"
        "  out[0] = sizeof(given);\n}\n"
        for index, name in enumerate(NAMES)
    ]
    return TYPES + "".join(kernels)


def test_sizes_are_the_compilers() -> None:
    listing, library = list_kernels(shader()), compile_shader(shader())
    for index, name in enumerate(NAMES):
        argument = listing.arguments(f"k{index}")[0]
        assert (argument.type, argument.size) == (name, getattr(library, f"k{index}")._least[0])


@pytest.mark.parametrize("path", sorted(FRAGMENTS.glob("*s*.metal"))[::6], ids=lambda path: path.stem)
def test_names_and_sizes_of_the_fragments_are_the_compilers(path: Path) -> None:
    listing, library = list_kernels(path.read_text()), compile_shader(path.read_text())
    assert listing.names == set(dir(library))
    for name in listing.names:
        kernel = getattr(library, name)
        arguments = listing.arguments(name)
        assert arguments.keys() == {each.index for each in kernel.kernel.parameters if each.kind == "buffer"}
        assert {index: each.size for index, each in arguments.items() if each.is_reference} == kernel._least


def test_every_argument_of_every_fragment_is_told() -> None:
    for path in sorted(FRAGMENTS.glob("*.metal")):
        listing = list_kernels(path.read_text())
        for name in listing.names:
            for argument in listing.arguments(name).values():
                assert argument.type, (path.name, name, argument)
                assert not argument.is_reference or argument.size, (path.name, name, argument)


INSTANCES = """\
#include <metal_stdlib>
template <typename T, typename P = float, int N>
[[kernel]] void scale(
    device T* out [[buffer(0)]], constant T* in [[buffer(2)]], constant P& by [[buffer(1)]],
    device metal::atomic_uint& count, device const void* any, uint i [[thread_position_in_grid]]) {}

template [[host_name("scale_half")]] [[kernel]] decltype(scale<half, uint3, 4>) scale<half, uint3, 4>;
template <typename T>
kernel void fill(device T* out, constant T& value) {}
template [[host_name("fill_long")]] kernel void fill<long>(device long* out, constant long& value);
kernel void plain(device float4* out) {}
"""


def test_template_arguments_are_filled_in() -> None:
    listing = list_kernels(INSTANCES, name="instances.metal")
    assert listing.names == {"scale_half", "fill_long", "plain"}
    assert listing.arguments("scale_half") == {
        0: Argument(0, "half", False, True, None),
        1: Argument(1, "uint3", True, False, 16),
        2: Argument(2, "half", False, False, None),
        3: Argument(3, "metal::atomic_uint", True, True, None),
        4: Argument(4, "void", False, False, None),
    }
    assert listing.arguments("fill_long")[1] == Argument(1, "long", True, False, 8)
    assert listing.arguments("plain")[0].type == "float4"
    assert listing.place("scale_half") == ("instances.metal", 7)


def test_a_registration_by_macro_stands_where_the_macro_is_called() -> None:
    text = "#include <c10/metal/indexing.h>\n\nstruct f_functor {\n  template <typename T>\n  T operator()(T x) {\n"
    text += "    return x;\n  }\n};\nREGISTER_UNARY_OP(f, half, half);\nREGISTER_UNARY_OP(f, float, float);\n"
    listing = list_kernels(text, name="f.metal")
    assert listing.place("f_dense_half_half") == ("f.metal", 9)
    assert listing.place("f_strided_float_float") == ("f.metal", 10)


def test_a_missing_include_is_told() -> None:
    with pytest.raises(ShaderError, match="gone.h"):
        list_kernels("#include <c10/metal/gone.h>\n")


def test_a_size_that_the_text_does_not_say_is_not_guessed() -> None:
    text = "struct A : B {\n  int x;\n};\nstruct C {\n  int x[COUNT];\n};\n"
    text += "kernel void k(constant A& a, constant C& c, constant Gone& g) {}\n"
    assert [each.size for each in list_kernels(text).arguments("k").values()] == [None, None, None]
