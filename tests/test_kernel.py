"""Kernel fragments merge into kernel files of every style, and a second merge finds nothing to do."""

from __future__ import annotations

import difflib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.edits.kernel import KernelEdit, merge_kernel
from pipeline.errors import Refusal
from pipeline.source import KERNELS, MemoryTree

TARGET = f"{KERNELS}/BinaryKernel.metal"
POCKET = Path(__file__).parents[1] / "pipeline" / "pocket" / "files"

HEAD = """\
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;

"""


def functor(name: str, body: str = "a + b", arguments: str = "const T a, const T b") -> str:
    return (
        f"struct {name}_functor {{\n  template <typename T>\n  inline T operator()({arguments}) {{\n"
        f"    return {body};\n  }}\n}};\n"
    )


def binary(name: str, *dtypes: str) -> str:
    return "".join(f"REGISTER_BINARY_OP({name}, {dtype}, {dtype});\n" for dtype in dtypes)


# All functors, then all registrations, through macros of the file's own.
FUNCTORS_FIRST = (
    HEAD
    + functor("add")
    + "\n"
    + functor("sub", "a - b")
    + """
#define REGISTER_FLOAT_OP(NAME)           \\
  REGISTER_BINARY_OP(NAME, float, float); \\
  REGISTER_BINARY_OP(NAME, half, half);   \\
  REGISTER_BINARY_OP(NAME, bfloat, bfloat)

#define REGISTER_ALL_OP(NAME)           \\
  REGISTER_FLOAT_OP(NAME);              \\
  REGISTER_BINARY_OP(NAME, long, long); \\
  REGISTER_BINARY_OP(NAME, int, int)

REGISTER_ALL_OP(add);
REGISTER_FLOAT_OP(sub);
REGISTER_BINARY_OP(sub, long, long);

// Complex
REGISTER_BINARY_OP(add, float2, float2);
REGISTER_BINARY_OP(sub, float2, float2);
"""
)

# Each functor above its registrations, the last dtype behind a version check.
INTERLEAVED = HEAD + "\n".join(
    functor(name)
    + f"\nREGISTER_UNARY_OP({name}, float, float);\n\n"
    + binary(name, "float", "half")
    + f"#if __METAL_VERSION__ >= 310\n{binary(name, 'bfloat')}#endif\n"
    for name in ("add", "sub", "mul")
)

# Registrations of one operator a paragraph, macro lines that make functors, kernels at the end.
PARAGRAPHS = (
    "#include <metal_stdlib>\n\n"
    + functor("neg", "-x", "const T x")
    + "\nDEFINE_UNARY_FLOATING_FUNCTOR(erf);\n\n"
    + "REGISTER_UNARY_OP(neg, float, float);\nREGISTER_UNARY_OP(neg, half, half);\n\n"
    + "REGISTER_UNARY_OP(erf, float, float);\n\n"
    + "REGISTER_UNARY_ALPHA_OP(pow_scalar, float, float, float);\n\n"
    + "template <typename T>\nkernel void copy(device T* out) {}\n"
)


@cache
def headers() -> dict[str, bytes]:
    spec = find_spec("torch")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent / "include"
    found = {f"c10/metal/{path.name}": path.read_bytes() for path in (folder / "c10/metal").glob("*.h")}
    kernels = (folder / "ATen/native/mps/kernels").glob("*.h")
    return {**found, **{f"{KERNELS}/{path.name}": path.read_bytes() for path in kernels}}


def tree_of(target: str | None, **more: str) -> MemoryTree:
    files = {**headers(), **{f"{KERNELS}/{name.replace('_h', '.h')}": text.encode() for name, text in more.items()}}
    return MemoryTree(files if target is None else {**files, TARGET: target.encode()})


def merge(fragment: str, target: str | None, **more: str) -> str:
    """The target after the merge; the merge only adds lines, and a second one changes nothing."""
    tree = tree_of(target, **more)
    edit = merge_kernel(fragment, TARGET, tree, "kernels/x.metal")
    after = MemoryTree({path: text.encode() for path, text in edit.files.items()}, tree)
    assert merge_kernel(fragment, TARGET, after, "kernels/x.metal").files == {}
    for path, text in edit.files.items():
        before = tree.read(path).decode() if tree.has(path) else ""
        assert not [line for line in difflib.ndiff(before.splitlines(), text.splitlines()) if line.startswith("- ")]
    return after.read(TARGET).decode()


def added(before: str, after: str) -> list[str]:
    """The added lines, and in brackets what stands above each stretch of them."""
    found: list[str] = []
    above, within = "", False
    for line in difflib.ndiff(before.splitlines(), after.splitlines()):
        if line.startswith("+ "):
            found.extend([] if within else [f"[{above}]"])
            found.append(line[2:])
        if line[:2] in ("+ ", "  "):
            within, above = line.startswith("+ "), line[2:]
    return found


# --- styles ---------------------------------------------------------------------------------------


def test_functors_first_and_the_files_own_macros() -> None:
    fragment = HEAD + functor("fdim") + "\n" + binary("fdim", "float", "half", "bfloat", "int", "long", "float2")
    after = merge(fragment, FUNCTORS_FIRST)
    expected = FUNCTORS_FIRST.replace(functor("sub", "a - b"), functor("sub", "a - b") + "\n" + functor("fdim"))
    expected = expected.replace("REGISTER_ALL_OP(add);\n", "REGISTER_ALL_OP(add);\nREGISTER_ALL_OP(fdim);\n")
    assert after == expected + "REGISTER_BINARY_OP(fdim, float2, float2);\n"


def test_a_macro_serves_only_where_it_says_the_same() -> None:
    fragment = HEAD + functor("fdim") + "\n" + binary("fdim", "float", "half", "short")
    after = merge(fragment, FUNCTORS_FIRST)
    expected = "REGISTER_BINARY_OP(sub, long, long);\n" + binary("fdim", "float", "half", "short")
    assert expected in after
    assert "REGISTER_FLOAT_OP(fdim)" not in after


def test_an_operators_registrations_stay_together() -> None:
    castout = "REGISTER_BINARY_CASTOUT_OP(fdim, float, bool);\n"
    fragment = HEAD + functor("fdim") + "\n" + binary("fdim", "float", "half", "bfloat") + castout
    assert f"REGISTER_FLOAT_OP(sub);\nREGISTER_FLOAT_OP(fdim);\n{castout}" in merge(fragment, FUNCTORS_FIRST)


def test_a_titled_list_is_for_what_its_title_says() -> None:
    target = FUNCTORS_FIRST.replace("REGISTER_BINARY_OP(sub, long, long);\n", "").replace("float2", "float")
    after = merge(HEAD + functor("fdim") + "\n" + "REGISTER_OPMATH_BINARY_OP(fdim, float, float);\n", target)
    assert after.index("REGISTER_OPMATH_BINARY_OP(fdim") < after.index("// Complex")


def test_interleaved_functors_and_registrations() -> None:
    content = functor("fdim") + "\nREGISTER_UNARY_OP(fdim, float, float);\n"
    assert merge(HEAD + content, INTERLEAVED) == f"{INTERLEAVED}\n{content}"


def test_a_paragraph_for_each_operator() -> None:
    lines = "REGISTER_UNARY_OP(frac, float, float);\nREGISTER_UNARY_OP(frac, half, half);\n"
    fragment = HEAD + functor("frac", "x", "const T x") + "\n" + lines
    after = merge(fragment, PARAGRAPHS)
    expected = PARAGRAPHS.replace(
        "#include <metal_stdlib>\n", "#include <c10/metal/indexing.h>\n#include <metal_stdlib>\n"
    )
    expected = expected.replace("using namespace metal;\n", "")
    expected = expected.replace("(erf, float, float);\n", f"(erf, float, float);\n\n{lines}")
    neg = functor("neg", "-x", "const T x")
    expected = expected.replace(neg, f"{neg}\n{functor('frac', 'x', 'const T x')}")
    expected = expected.replace("#include <metal_stdlib>\n", "#include <metal_stdlib>\nusing namespace metal;\n")
    assert after == expected


def test_kin_by_name_where_the_macro_is_new_to_the_file() -> None:
    fragment = HEAD + functor("f", "x", "const T x, const T a") + "\nREGISTER_UNARY_ALPHA_OP(f, float, long, float);\n"
    after = merge(fragment, PARAGRAPHS)
    assert "REGISTER_UNARY_ALPHA_OP(pow_scalar, float, float, float);\n\nREGISTER_UNARY_ALPHA_OP(f, " in after
    fragment = HEAD + functor("g") + "\nREGISTER_OPMATH_BINARY_OP(g, float, float);\n"
    after = merge(fragment, FUNCTORS_FIRST)
    assert (
        after.index("REGISTER_FLOAT_OP(sub)") < after.index("REGISTER_OPMATH_BINARY_OP(g") < after.index("// Complex")
    )


def test_a_fragment_with_macros_of_its_own_stays_together() -> None:
    registrations = """\
#define REGISTER_FDIM_OP(DTYPE)           \\
  REGISTER_BINARY_OP(fdim, DTYPE, DTYPE); \\
  REGISTER_BINARY_CASTOUT_OP(fdim, DTYPE, DTYPE)

typedef float fdim_float;

REGISTER_FDIM_OP(float);
REGISTER_FDIM_OP(half);
"""
    definitions = "// Not negative.\n" + functor("fdim")
    after = merge(HEAD + definitions + "\n" + registrations, FUNCTORS_FIRST)
    assert f"\n\n{registrations}\n" in after
    assert f"\n\n{definitions}\n#define REGISTER_FLOAT_OP" in after


def test_kernels_go_to_the_end_with_their_instantiations() -> None:
    fragment = (
        HEAD
        + """\
template <typename T>
kernel void fold(device T* out [[buffer(0)]]) {
  out[0] = T(0);
}

template [[host_name("fold_float")]] kernel void fold<float>(device float*);
"""
    )
    assert merge(fragment, FUNCTORS_FIRST) == FUNCTORS_FIRST + "\n" + fragment.removeprefix(HEAD)


def test_a_target_without_final_line_break() -> None:
    target = HEAD + functor("add") + "\nREGISTER_BINARY_OP(add, float, float);"
    after = merge(HEAD + functor("sub") + "\n" + binary("sub", "float"), target)
    assert after.endswith("REGISTER_BINARY_OP(add, float, float);\n\nREGISTER_BINARY_OP(sub, float, float);\n")


# --- what stands there already --------------------------------------------------------------------


def test_an_identical_functor_is_not_written_twice() -> None:
    fragment = HEAD + functor("sub", "a   -  b /* alike */") + "\n" + binary("sub", "float", "int")
    after = merge(fragment, FUNCTORS_FIRST)
    assert after.count("struct sub_functor") == 1
    assert added(FUNCTORS_FIRST, after) == [
        "[REGISTER_BINARY_OP(sub, long, long);]", "REGISTER_BINARY_OP(sub, int, int);"
    ]  # fmt: skip


def test_a_functor_that_nothing_used_serves() -> None:
    spare = functor("maximum", "c10::metal::max(a, b)")
    target = FUNCTORS_FIRST.replace("#define REGISTER_FLOAT", f"{spare}\n#define REGISTER_FLOAT")
    fragment = HEAD + functor("maximum", "a > b ? a : b") + "\n" + binary("maximum", "float", "half", "bfloat")
    edit = merge_kernel(fragment, TARGET, tree_of(target), "kernels/x.metal")
    assert edit.kept == ("maximum_functor",)
    assert added(target, merge(fragment, target)) == ["[REGISTER_FLOAT_OP(sub);]", "REGISTER_FLOAT_OP(maximum);"]


def test_nothing_is_left_to_do_where_upstream_has_it_all() -> None:
    fragment = HEAD + "using namespace c10::metal;\n" + functor("add", "mul(a, b)") + binary("add", "int", "half")
    target = FUNCTORS_FIRST.replace("return a + b", "return mul(a, b)")
    edit = merge_kernel(fragment, TARGET, tree_of(target))
    assert edit == KernelEdit({}, {}, ("add_functor",))


# --- refusals -------------------------------------------------------------------------------------

HELPER = "inline float half_of(float x) {\n  return x;\n}\n"
ERF = "DEFINE_UNARY_FLOATING_FUNCTOR(erf);\nREGISTER_UNARY_OP(erf, float, float);\n"
UNARY = "const T x"
OWN_MACRO = "#define REGISTER_FLOAT_OP(NAME) REGISTER_BINARY_OP(NAME, float, float)\nREGISTER_FLOAT_OP(add);\n"
REFUSED = {
    "a functor in use": (functor("sub", "b - a") + binary("sub", "short"), 5, "sub_functor means something else in"),
    "a functor of a macro line": (functor("erf", "x", UNARY) + binary("erf", "int"), 5, "erf_functor means"),
    "a spare functor called otherwise": (functor("spare", "x", UNARY) + binary("spare", "float"), 5, "spare_functor"),
    "a helper": (HELPER + functor("q") + binary("q", "float"), 5, "half_of means"),
    "a macro": (OWN_MACRO, 5, "REGISTER_FLOAT_OP means something else"),
    "an unknown macro": (functor("q") + "REGISTER_NO_OP(q, float);\n", 11, "has no macro REGISTER_NO_OP"),
    "a macro of another form": (functor("q") + "REGISTER_FLOAT_OP(q, float);\n", 11, "takes 1 arguments in .*, not 2"),
    "a namespace": ("namespace a {\n}\n", 5, "no namespace, #if or pragma"),
    "a version check": (functor("q") + "#if __METAL_VERSION__ >= 310\n#endif\n", 11, "no namespace, #if or pragma"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_refusals(why: str) -> None:
    text, line, reason = REFUSED[why]
    target = "\n".join([FUNCTORS_FIRST, HELPER.replace("x;", "x / 2;"), ERF, functor("spare")])
    with pytest.raises(Refusal, match=reason) as refused:
        merge_kernel(HEAD + text, TARGET, tree_of(target), "kernels/x.metal")
    assert (refused.value.path, refused.value.line) == ("kernels/x.metal", line)
    assert refused.value.hint


def test_a_fragment_without_content_is_refused() -> None:
    with pytest.raises(Refusal, match="kernels/x.metal: the fragment defines nothing"):
        merge_kernel(HEAD, TARGET, tree_of(FUNCTORS_FIRST), "kernels/x.metal")


def test_a_target_and_its_headers_are_read_anew_where_they_changed() -> None:
    header = "aten/src/ATen/native/mps/kernels/Ops.h"
    target = f"#include <{header.removeprefix('aten/src/')}>\n{FUNCTORS_FIRST}"
    fragment = HEAD + functor("mul", "a * b") + "DEFINE_OP(mul, float);\n"
    with_two = MemoryTree({TARGET: target.encode(), header: b"#define DEFINE_OP(NAME, T) int NAME##T\n"})
    with_one = MemoryTree({header: b"#define DEFINE_OP(NAME) int NAME\n"}, with_two)
    longer = MemoryTree({TARGET: (target + binary("sub", "char")).encode()}, with_two)
    first = merge_kernel(fragment, TARGET, with_two).files[TARGET]
    with pytest.raises(Refusal, match="DEFINE_OP takes 1 arguments"):
        merge_kernel(fragment, TARGET, with_one)
    assert binary("sub", "char") in merge_kernel(fragment, TARGET, longer).files[TARGET]
    assert merge_kernel(fragment, TARGET, with_two).files[TARGET] == first


def test_the_old_two_argument_macro_is_refused() -> None:
    old = HEAD + functor("add") + "\n#define REGISTER_BINARY_OP(NAME, DTYPE) int NAME##_##DTYPE\n"
    with pytest.raises(Refusal, match=r"REGISTER_BINARY_OP takes 2 arguments in .*BinaryKernel\.metal, not 3"):
        merge(HEAD + functor("q") + binary("q", "float"), old)


# --- includes and namespaces ----------------------------------------------------------------------


def test_includes_are_added_in_order_and_once() -> None:
    target = "#include <c10/metal/special_math.h>\n#include <metal_stdlib>\nusing namespace metal;\n\n" + functor("add")
    fragment = "#include <c10/metal/utils.h>\n" + HEAD + functor("q") + binary("q", "float")
    assert merge(fragment, target).startswith(
        "#include <c10/metal/indexing.h>\n#include <c10/metal/special_math.h>\n#include <c10/metal/utils.h>\n"
        "#include <metal_stdlib>\nusing namespace metal;\n\n"
    )


@pytest.mark.parametrize(
    ("body", "needed"), [("a + b", False), ("c10::metal::mul(a, b)", False), ("mul(a, b)", True), ("a.mul(b)", False)]
)
def test_a_namespace_is_opened_only_for_names_that_need_it(body: str, needed: bool) -> None:
    fragment = HEAD + "using namespace c10::metal;\n" + functor("q", body) + binary("q", "float")
    after = merge(fragment, FUNCTORS_FIRST)
    assert ("using namespace metal;\nusing namespace c10::metal;\n" in after) is needed
    # special_math.h opens it for all who include it.
    target = FUNCTORS_FIRST.replace("indexing.h>\n", "indexing.h>\n#include <c10/metal/special_math.h>\n")
    assert "using namespace c10::metal;" not in merge(fragment, target)


# --- params structs -------------------------------------------------------------------------------

PARAMS = "// Two scalars.\nstruct ClipParams {\n  float low;\n  float high;\n};\n"
WITH_PARAMS = HEAD + PARAMS + "\n" + functor("clip", "a", "const T a, const ClipParams params") + (
    "\nREGISTER_UNARY_ALPHA_OP(clip, float, ClipParams, float);\n"
)  # fmt: skip
GUARDED = '#if !defined(A)\n#pragma once\n\nstruct Other {\n  int x;\n};\n\n#else\n#error "no"\n#endif\n'


def test_a_params_struct_goes_to_the_shared_header() -> None:
    edit = merge_kernel(WITH_PARAMS, TARGET, MemoryTree({TARGET: FUNCTORS_FIRST.encode()}), "kernels/clip.metal")
    header = f"{KERNELS}/BinaryKernel.h"
    assert edit.files[header] == f"#pragma once\n\n{PARAMS}"
    assert edit.params_headers == {"ATen/native/mps/kernels/BinaryKernel.h": edit.files[header]}
    assert edit.files[TARGET].startswith(
        "#include <ATen/native/mps/kernels/BinaryKernel.h>\n#include <c10/metal/indexing.h>\n"
    )
    assert "struct ClipParams" not in edit.files[TARGET]


def test_a_new_header_is_guarded_as_its_neighbours_are() -> None:
    tree = MemoryTree({TARGET: FUNCTORS_FIRST.encode(), f"{KERNELS}/Other.h": GUARDED.encode()})
    header = merge_kernel(WITH_PARAMS, TARGET, tree).files[f"{KERNELS}/BinaryKernel.h"]
    assert header == GUARDED.replace("struct Other {\n  int x;\n};\n", PARAMS)


@pytest.mark.parametrize("header", ["#pragma once\n\nstruct Other {\n  int x;\n};\n", GUARDED])
def test_a_header_keeps_what_it_has(header: str) -> None:
    tree = MemoryTree({TARGET: FUNCTORS_FIRST.encode(), f"{KERNELS}/BinaryKernel.h": header.encode()})
    edit = merge_kernel(WITH_PARAMS, TARGET, tree)
    assert edit.files[f"{KERNELS}/BinaryKernel.h"] == header.replace("int x;\n};\n", f"int x;\n}};\n\n{PARAMS}")
    again = merge_kernel(WITH_PARAMS, TARGET, MemoryTree({p: t.encode() for p, t in edit.files.items()}, tree))
    assert again.files == {}
    assert list(again.params_headers) == ["ATen/native/mps/kernels/BinaryKernel.h"]


def test_a_params_struct_of_another_form_is_refused() -> None:
    header = "#pragma once\n\nstruct ClipParams {\n  float low;\n};\n"
    tree = MemoryTree({TARGET: FUNCTORS_FIRST.encode(), f"{KERNELS}/BinaryKernel.h": header.encode()})
    with pytest.raises(Refusal, match=r"BinaryKernel\.h:3: ClipParams has another form here"):
        merge_kernel(WITH_PARAMS, TARGET, tree)


def test_the_header_that_the_target_includes_already() -> None:
    target = "#include <ATen/native/mps/kernels/Activation.h>\n" + HEAD + functor("q")
    path = f"{KERNELS}/ActivationKernel.metal"
    tree = MemoryTree({**headers(), path: target.encode()})
    assert set(merge_kernel(WITH_PARAMS, path, tree).files) == {path, f"{KERNELS}/Activation.h"}
    # Not included yet, but it is there.
    tree = MemoryTree({**headers(), path: (HEAD + functor("q")).encode()})
    edit = merge_kernel(WITH_PARAMS, path, tree)
    assert edit.files[path].startswith("#include <ATen/native/mps/kernels/Activation.h>\n")
    before = headers()[f"{KERNELS}/Activation.h"].decode()
    assert added(before, edit.files[f"{KERNELS}/Activation.h"]) == ["[]", *PARAMS.splitlines(), ""]


def test_a_header_with_arrays_includes_what_declares_them() -> None:
    params = "struct ShapeParams {\n  ::c10::metal::array<int, 4> sizes;\n};\n"
    fragment = HEAD + params + functor("q") + binary("q", "float")
    header = merge_kernel(fragment, TARGET, tree_of(FUNCTORS_FIRST)).files[f"{KERNELS}/BinaryKernel.h"]
    assert "#pragma once\n#include <c10/metal/common.h>\n\nstruct ShapeParams {" in header


# --- new files ------------------------------------------------------------------------------------


def test_a_new_file_is_the_fragment() -> None:
    fragment = HEAD + "// Adds.\n" + functor("q") + "\n" + binary("q", "float", "half")
    assert merge(fragment, None) == fragment


def test_a_new_file_with_params() -> None:
    edit = merge_kernel(WITH_PARAMS, TARGET, MemoryTree({}))
    include = "#include <ATen/native/mps/kernels/BinaryKernel.h>\n"
    assert edit.files[TARGET] == include + WITH_PARAMS.replace(PARAMS + "\n", "")


# --- generated fragments --------------------------------------------------------------------------


DTYPES = ["float", "half", "bfloat", "long", "int", "float2"]


@st.composite
def fragments(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.sampled_from(["add", "fdim", "gamma_inc", "new_op"]), unique=True, min_size=1))
    text = HEAD
    for name in names:
        dtypes = draw(st.lists(st.sampled_from(DTYPES), unique=True, min_size=1))
        text += (
            functor(name)
            + draw(st.sampled_from(["", "\n"]))
            + binary(name, *dtypes)
            + draw(st.sampled_from(["", "\n"]))
        )
    return text


@settings(max_examples=60, deadline=None)
@given(fragments(), st.sampled_from([FUNCTORS_FIRST, INTERLEAVED, PARAGRAPHS, HEAD]))
def test_merges_add_once_and_keep_functors_above_registrations(fragment: str, target: str) -> None:
    after = merge(fragment, target)
    for name in {line.split("(")[1].split(",")[0] for line in fragment.splitlines() if line.startswith("REGISTER")}:
        assert after.count(f"struct {name}_functor") == 1
        first = min(after.index(f"{macro}({name}") for macro in ("_OP",) if f"{macro}({name}" in after)
        assert after.index(f"struct {name}_functor") < first
    assert "\n\n\n" not in after.removeprefix(target)


def test_every_fragment_merges_into_the_pocket() -> None:
    kernels = Path(__file__).parents[1] / "kernels"
    targets = {path.name: path for path in (POCKET / KERNELS).glob("*.metal")}
    tree = MemoryTree({**headers(), **{f"{KERNELS}/{name}": path.read_bytes() for name, path in targets.items()}})
    for path in sorted(kernels.glob("*.metal")):
        text = path.read_text()
        kind = "Unary" if "REGISTER_UNARY" in text else "Binary" if "BINARY_OP" in text else "Activation"
        target = f"{KERNELS}/{kind}Kernel.metal"
        edit = merge_kernel(text, target, tree, path.name)
        tree = MemoryTree({changed: content.encode() for changed, content in edit.files.items()}, tree)
        assert merge_kernel(text, target, tree, path.name).files == {}
