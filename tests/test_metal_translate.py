"""The rewriting of Metal Shading Language as C++ text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.metal.scan import angle_end, close, mask, position_of, split_commas
from pipeline.metal.signature import TranslationError
from pipeline.metal.swizzle import swizzle_header
from pipeline.metal.translate import suffix_literals, translate


@pytest.mark.parametrize(
    ("metal", "cpp"),
    [
        ("1.0", "1.0f"),
        (".5", ".5f"),
        ("1.", "1.f"),
        ("1e3", "1e3f"),
        ("1E-3", "1E-3f"),
        ("1.5f", "1.5f"),
        ("1.5F", "1.5F"),
        ("0x1p3", "0x1p3f"),
        ("0x1.8p-2f", "0x1.8p-2f"),
        ("1.5h", "half(1.5f)"),
        ("1e2H", "half(1e2f)"),
        ("2.5bf", "bfloat(2.5f)"),
        ("42", "42"),
        ("42u", "42u"),
        ("0xFF", "0xFF"),
        ("0xfefe", "0xfefe"),
        ("1ul", "1ul"),
        ("a1.x", "a1.x"),
        ("v.x1e3", "v.x1e3"),
        ("e5", "e5"),
        ('"1.0"', '"1.0"'),
        ("x[1].y", "x[1].y"),
        ("1.0-2.0", "1.0f-2.0f"),
    ],
)
def test_literals(metal: str, cpp: str) -> None:
    assert suffix_literals(metal) == cpp


def test_line_markers_are_not_numbers() -> None:
    assert suffix_literals('# 1 "a1.0.h" 2\n1.0') == '# 1 "a1.0.h" 2\n1.0f'


ATTRIBUTED = """
template <typename T, int N>
[[max_total_threads_per_threadgroup(N)]]
kernel void scale(
    device T* out [[buffer(2)]],
    constant T* in,
    constant float& factor [[ buffer(0) ]],
    threadgroup float* scratch [[threadgroup(1)]],
    constant Params& params,
    uint2 at [[thread_position_in_grid]],
    ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float tile[N * (2 + 1)], more;
  threadgroup float* p = tile;
  out[at.x] = in[at.y] * factor;
}
template [[host_name("scale_float" "_32")]] [[kernel]] void scale<float, 32>(
    device float*, constant float*, constant float&,
    threadgroup float*, constant Params&, uint2, ushort);
template [[host_name("scale_half")]] kernel decltype(scale<half, (4 > 3)>) scale<half, (4 > 3)>;
kernel void
plain(device float* x) { x[0] = 1.0; }
int after;
"""


def test_kernels_and_their_parameters() -> None:
    translation = translate(ATTRIBUTED)
    assert [kernel.name for kernel in translation.kernels] == ["scale_float_32", "scale_half", "plain"]
    for kernel in translation.kernels[:2]:
        assert [(parameter.kind, parameter.index) for parameter in kernel.parameters] == [
            ("buffer", 2), ("buffer", 1), ("buffer", 0), ("threadgroup", 1), ("buffer", 3),
            ("thread_position_in_grid", 0), ("thread_index_in_simdgroup", 0),
        ]  # fmt: skip
        spaces = [(parameter.space, parameter.is_reference) for parameter in kernel.parameters[:3]]
        assert spaces == [("device", False), ("constant", False), ("constant", True)]


def test_the_keyword_may_stand_behind_the_type() -> None:
    translation = translate(
        "template <class T> void kernel f(device T* x) {}\ntemplate void kernel f<int>(device int* x);"
    )
    assert [kernel.name for kernel in translation.kernels] == ["f"]


def test_lines_stay_where_they_were() -> None:
    text = translate(ATTRIBUTED).text
    assert text.count("\n") == ATTRIBUTED.count("\n")
    for needle in ("out[at.x] =", "int after;", "plain(device"):
        assert text[: text.index(needle)].count("\n") == ATTRIBUTED[: ATTRIBUTED.index(needle)].count("\n")
    assert "[[" not in text
    column = ATTRIBUTED.split("\n")[7].index("scratch")
    assert text.split("\n")[7].index("scratch") == column


def test_threadgroup_variables_are_shared_and_pointers_are_not() -> None:
    text = translate(ATTRIBUTED).text
    shared = re.findall(r'auto& (\w+) = ::metal_cpu::threadgroup_variable<([^;]*), \d+>\("(\w+)"\);', text)
    assert shared == [("tile", "float[N * (2 + 1)]", "tile"), ("more", "float", "more")]
    assert "threadgroup float* p = tile;" in text


def test_only_what_is_asked_for_is_instantiated() -> None:
    translation = translate(ATTRIBUTED, re.compile("^scale_half$"))
    assert [kernel.name for kernel in translation.kernels] == ["scale_half"]
    assert "scale<float, 32>" not in translation.text
    assert translation.text.count("\n") == ATTRIBUTED.count("\n")


def test_many_kernels_are_divided_into_parts() -> None:
    source = "\n".join(f"kernel void k{i}(device float* x) {{ x[0] = {i}; }}" for i in range(150))
    translation = translate(source)
    assert translation.parts == 3
    assert [kernel.part for kernel in translation.kernels] == [0] * 64 + [1] * 64 + [2] * 22


def test_what_differs_by_address_space_only_is_kept_once() -> None:
    source = """
template <typename T> inline T load(constant void* p) { return *(constant T*)p; }
template <typename T> inline T load(device const void* p) { return *(device const T*)p; }
template <typename T> struct bare {};
template <typename T> struct bare<device T*> { using type = T; };
template <typename T> struct bare<threadgroup T*> { using type = T; };
inline int which(constant int*) { return 1; }
inline int which(device int*) { return 2; }
"""
    translation = translate(source)
    assert translation.text.count("inline T load") == 1
    assert translation.text.count("using type = T;") == 1
    assert translation.text.count("inline int which") == 2
    assert translation.spaced_text.count("inline T load") == 2
    assert translation.text.count("\n") == source.count("\n")


def test_the_same_words_in_another_scope_are_kept() -> None:
    method = "static void add(device int* x) { *x += 1; }"
    source = f"""
template <> struct A<char> {{ {method} }};
template <> struct A<uchar> {{ {method} }};
namespace one {{ {method} }}
namespace two {{ {method} }}
namespace one {{ {method.replace("device", "threadgroup")} }}
namespace a {{ namespace one {{ {method} }} }}
"""
    assert translate(source).text.count("*x += 1") == 5


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("\nkernel void k(device float* x) { double y; }", "'double' is not supported", 2),
        ("kernel void k(texture2d<float> t [[texture(0)]]) {}", "textures are not supported", 1),
        ("constant bool f [[function_constant(0)]];", "function constants are not supported", 1),
        (
            "\n\nkernel void k(device float* x) {}\ntemplate <class T> [[host_name(\"k\")]] kernel void f(device T*) {}"
            '\ntemplate [[host_name("k")]] kernel void f<int>(device int*);',
            "two kernels have the host name 'k'",
            5,
        ),
        ("\nkernel int k(device float* x) {}", "a kernel returns void", 2),
        ("kernel void k(\nfloat* x) {}", "'float* x' needs an address space", 1),
        ("void f() {\n  threadgroup float x[4];\n}", "declared in a kernel", 2),
        (
            "int f(constant int* p) { return 1; }\nint f(device const int* p) { return 2; }",
            "overloads that differ by address space only",
            2,
        ),
        ('template [[host_name("a")]] kernel void f<int>(device int*);', "no definition of kernel 'f'", 1),
    ],
)  # fmt: skip
def test_what_cannot_be_translated_is_said_with_its_line(source: str, message: str, line: int) -> None:
    with pytest.raises(TranslationError, match=re.escape(message)) as caught:
        translate(source)
    assert position_of(f'# 1 "a.metal"\n{source}', caught.value.offset + len('# 1 "a.metal"\n')) == ("a.metal", line)


def test_positions_follow_line_markers() -> None:
    text = '# 1 "a.metal"\nint a;\n# 7 "b.h" 1\nint b;\nint c;\n# 3 "a.metal" 2\nint d;\n'
    assert position_of(text, text.index("a;")) == ("a.metal", 1)
    assert position_of(text, text.index("c;")) == ("b.h", 8)
    assert position_of(text, text.index("d;")) == ("a.metal", 3)


def test_scanning() -> None:
    text = 'f(a, "(,", g<b, c>(d), x[1, 2]) {'
    masked = mask(text)
    assert len(masked) == len(text)
    assert text[: close(masked, 1)] == 'f(a, "(,", g<b, c>(d), x[1, 2])'
    pieces = [text[start:end].strip() for start, end in split_commas(masked, 2, close(masked, 1) - 1)]
    assert pieces == ["a", '"(,"', "g<b, c>(d)", "x[1, 2]"]
    assert angle_end("a<b<(c > d)>, e> f", 1) == 16
    assert mask('# 1 "x("\n\'{\' "\\"(" y') == "        \n    " + "      y"


@given(st.text(alphabet="kernel void device T*x[](){};<>,\"'\n#1.0 template\\", max_size=120))
def test_any_text_is_translated_or_refused(source: str) -> None:
    try:
        text = translate(source).text
    except TranslationError as error:
        assert 0 <= error.offset <= len(source) + source.count(".") * 6 + 200
    else:
        assert text.count("\n") == source.count("\n")


def test_swizzles() -> None:
    header = swizzle_header(2)
    assert "put = set_xy)) vec<T, 2> xy;" in header
    assert "__declspec(property(get = get_xx)) vec<T, 2> xx;" in header
    assert "__declspec(property(get = get_xy, put = set_xy)) vec<T, 2> rg;" in header
    assert len(re.findall(r"vec<T, \d> [xyzw]+;", swizzle_header(4))) == 4**2 + 4**3 + 4**4
