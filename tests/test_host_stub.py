"""Fragments land among their kin, in the file's order and style; what they replace goes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pipeline.edits.fragment import read_fragment
from pipeline.edits.host import HostEdit, place_fragment
from pipeline.edits.hostfile import HostFiles
from pipeline.edits.includes import Headers
from pipeline.edits.objcpp import split
from pipeline.edits.stub import insert_stub, new_host_file
from pipeline.errors import Refusal

PATH = "aten/src/ATen/native/mps/operations/UnaryKernel.mm"
LEGACY = "aten/src/ATen/native/mps/operations/UnaryOps.mm"

HEAD = """\
#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/UnaryKernel_metallib.h>
#endif

"""
MACRO = """\
#define REGISTER_UNARY_TI_DISPATCH(NAME)                    \\
  static void NAME##_kernel_mps(TensorIteratorBase& iter) { \\
    lib.exec_unary_kernel(iter, #NAME);                     \\
  }                                                         \\
  REGISTER_DISPATCH(NAME##_stub, NAME##_kernel_mps)

"""
LINES = """\
REGISTER_UNARY_TI_DISPATCH(exp);
REGISTER_UNARY_TI_DISPATCH(log);
REGISTER_UNARY_TI_DISPATCH(sin);

"""
FUNCTIONS = """\
static void round_decimals_kernel(TensorIteratorBase& iter, int64_t decimals) {
  lib.exec_unary_kernel(iter, "round_decimals", Scalar(decimals), ScalarType::Long);
}

REGISTER_DISPATCH(round_decimals_stub, round_decimals_kernel);

"""
END = "} // namespace at::native\n"
KERNELS = HEAD + MACRO + LINES + FUNCTIONS + END


def fragment(name: str, body: str = "", includes: str = "<ATen/native/UnaryOps.h>", parameters: str = "") -> str:
    return (
        f"#include {includes}\n\n"
        f"static void {name}_kernel_mps(TensorIteratorBase& iter{parameters}) {{\n"
        f"{body or f'  lib.exec_unary_kernel(iter, {chr(34)}{name}{chr(34)});'}\n"
        "}\n\n"
        f"REGISTER_DISPATCH({name}_stub, &{name}_kernel_mps)\n"
    )


def insert(text: str, added: str, *, path: str = PATH, params: Mapping[str, str] | None = None) -> str:
    """Inserts, and checks what must hold of every insertion."""
    after = insert_stub(text, read_fragment(added, "stubs/x.mm"), path=path, params_headers=params)
    lines = iter(after.split("\n"))
    assert all(line in lines for line in text.split("\n")), "only adds lines"
    split(after, path)
    assert insert_stub(after, read_fragment(added, "stubs/x.mm"), path=path, params_headers=params) == after
    return after


def test_a_trivial_stub_becomes_a_line_of_the_file_s_macro() -> None:
    after = insert(KERNELS, fragment("cos"))
    assert after == KERNELS.replace(
        "REGISTER_UNARY_TI_DISPATCH(exp)", "REGISTER_UNARY_TI_DISPATCH(cos);\n" + LINES[:31]
    )


@pytest.mark.parametrize(
    "added",
    [
        fragment("cos", '  lib.exec_unary_kernel(iter, "cosine");'),
        fragment("cos", '  // exact\n  lib.exec_unary_kernel(iter, "cos");'),
        fragment("cos", '  check(iter);\n  lib.exec_unary_kernel(iter, "cos");'),
        fragment("cos", parameters=", bool fast"),
        fragment("cos").replace("TensorIteratorBase", "TensorIterator"),
        fragment("cos").replace("static void", "// Even.\nstatic void"),
        fragment("cos").replace(
            "REGISTER", "static void twice(TensorIteratorBase& i) {\n  cos_kernel_mps(i);\n}\n\nREGISTER"
        ),
    ],
)
def test_what_the_macro_would_not_make_is_written_out(added: str) -> None:
    after = insert(KERNELS, added)
    assert "REGISTER_UNARY_TI_DISPATCH(cos)" not in after
    assert (
        "REGISTER_DISPATCH(round_decimals_stub, round_decimals_kernel);\nREGISTER_DISPATCH(cos_stub, cos_kernel_mps);\n"
        in after
    )


def test_the_name_of_the_function_does_not_matter_to_the_macro() -> None:
    added = fragment("cos").replace("cos_kernel_mps", "cos_mps_kernel")
    assert "REGISTER_UNARY_TI_DISPATCH(cos);" in insert(KERNELS, added)


def test_lines_that_are_not_sorted_get_the_new_one_last() -> None:
    text = KERNELS.replace("DISPATCH(exp)", "DISPATCH(tan)")
    assert "REGISTER_UNARY_TI_DISPATCH(sin);\nREGISTER_UNARY_TI_DISPATCH(cos);\n\n" in insert(text, fragment("cos"))


SORTED = (
    HEAD
    + "".join(
        f"// {name} on two lines\n// of comment\n"
        f'static void {name}_kernel(TensorIteratorBase& iter) {{\n  lib.exec(iter, "{name}");\n}}\n\n'
        for name in ("abs", "log", "tan")
    )
    + "".join(f"REGISTER_DISPATCH({name}_stub, &{name}_kernel)\n" for name in ("abs", "log", "tan"))
    + END
)


def test_functions_and_registrations_keep_their_order() -> None:
    added = fragment("cos")
    function, line = added.split("\n\n")[1:]
    after = insert(SORTED, added)
    assert f"}}\n\n{function}\n\n// log on two lines\n" in after
    assert f"REGISTER_DISPATCH(abs_stub, &abs_kernel)\n{line}REGISTER_DISPATCH(log_stub" in after


def test_registrations_that_follow_their_functions_keep_doing_so() -> None:
    text = HEAD + "".join(fragment(name).split("\n\n", 1)[1] + "\n" for name in ("sin", "cos")) + END
    after = insert(text, fragment("tan", "  check(iter);"))
    assert after == text.replace(END, fragment("tan", "  check(iter);").split("\n\n", 1)[1] + "\n" + END).replace(
        "}\n\nREGISTER_DISPATCH(tan", "}\nREGISTER_DISPATCH(tan"
    )


def test_a_library_in_an_inner_namespace_is_named_through_it() -> None:
    text = (
        HEAD.replace("namespace at::native {\n", "namespace at::native {\nnamespace mps {\n")
        + "} // namespace mps\n\n"
        + END
    )
    added = fragment("cos", '  auto& lib_ = lib;\n  lib.exec_unary_kernel(iter, "lib.exec", other.lib);')
    after = insert(text, added)
    assert '  auto& lib_ = mps::lib;\n  mps::lib.exec_unary_kernel(iter, "lib.exec", other.lib);\n' in after


def test_a_using_makes_the_inner_library_visible() -> None:
    text = (
        HEAD.replace("namespace at::native {\n", "namespace at::native {\nnamespace mps {\n")
        + "} // namespace mps\n\nusing namespace mps;\n\n"
        + END
    )
    assert '\n  lib.exec_unary_kernel(iter, "cos");' in insert(text, fragment("cos"))


def test_a_file_without_a_library_gets_one_and_the_header_it_needs() -> None:
    after = insert(
        "namespace at::native {\nusing namespace mps;\n\nvoid f() {\n}\n\n" + END, fragment("cos"), path="a/Trig.mm"
    )
    assert after == (
        "#include <ATen/native/UnaryOps.h>\n#include <ATen/native/mps/OperationUtils.h>\n"
        "namespace at::native {\nusing namespace mps;\n\n"
        "#ifndef PYTORCH_JIT_COMPILE_SHADERS\nstatic auto& lib = mps::MetalShaderLibrary::getBundledLibrary();\n"
        "#else\n#include <ATen/native/mps/Trig_metallib.h>\n#endif\n\nvoid f() {\n}\n\n"
        + fragment("cos").split("\n\n", 1)[1]
        + "\n"
        + END
    )


def test_a_new_file() -> None:
    added = fragment(
        "cos", includes="<ATen/native/UnaryOps.h>\n#include <ATen/ops/abs.h>\n#include <ATen/ops/abs_native.h>"
    )
    assert new_host_file("a/Trig.mm", read_fragment(added)) == (
        "#define TORCH_ASSERT_ONLY_METHOD_OPERATORS\n"
        "#include <ATen/native/UnaryOps.h>\n#include <ATen/native/mps/OperationUtils.h>\n\n"
        "#ifndef AT_PER_OPERATOR_HEADERS\n#include <ATen/Functions.h>\n#include <ATen/NativeFunctions.h>\n"
        "#else\n#include <ATen/ops/abs.h>\n#include <ATen/ops/abs_native.h>\n#endif\n\n"
        "namespace at::native {\n\n"
        "#ifndef PYTORCH_JIT_COMPILE_SHADERS\nstatic auto& lib = mps::MetalShaderLibrary::getBundledLibrary();\n"
        "#else\n#include <ATen/native/mps/Trig_metallib.h>\n#endif\n\n" + added.split("\n\n", 1)[1] + "\n" + END
    )


def test_includes_go_where_their_order_wants_them() -> None:
    block = (
        "#ifndef AT_PER_OPERATOR_HEADERS\n#include <ATen/Functions.h>\n#else\n#include <ATen/ops/abs.h>\n"
        "#include <ATen/ops/neg_native.h>\n#endif\n\n"
    )
    text = KERNELS.replace(
        "\nnamespace at::native {\n", f"#include <fmt/format.h>\n\n{block}namespace at::native {{\n", 1
    )
    added = fragment(
        "cos",
        includes="<ATen/Dispatch.h>\n#include <ATen/native/mps/Copy.h>\n"
        "#include <ATen/ops/mul.h>\n#include <ATen/ops/zeros.h>",
    )
    includes = [line for line in insert(text, added).split("\n") if line.startswith("#include")][:-1]
    assert includes == [
        f"#include <{path}>"
        for path in (
            "ATen/Dispatch.h",
            "ATen/TensorIterator.h",
            "ATen/native/UnaryOps.h",
            "ATen/native/mps/Copy.h",
            "ATen/native/mps/OperationUtils.h",
            "fmt/format.h",
            "ATen/Functions.h",
            "ATen/ops/abs.h",
            "ATen/ops/mul.h",
            "ATen/ops/neg_native.h",
            "ATen/ops/zeros.h",
        )
    ]


def test_a_header_that_only_forwards_to_one_that_is_there_is_left_out() -> None:
    texts = {"ATen/native/TensorIterator.h": "#pragma once\n#include <ATen/TensorIterator.h>\n"}
    added = read_fragment(fragment("cos", includes="<ATen/native/TensorIterator.h>"))
    after = insert_stub(KERNELS, added, path=PATH, headers=Headers(texts.get))
    assert "ATen/native/TensorIterator.h" not in after


def test_the_shared_header_of_a_params_struct_is_included() -> None:
    params = {"ATen/native/mps/kernels/Activation.h": "template <typename T>\nstruct CosParams {\n  T a;\n};\n"}
    after = insert(KERNELS, fragment("cos", "  CosParams<float> params;"), params=params)
    assert "OperationUtils.h>\n#include <ATen/native/mps/kernels/Activation.h>\n" in after
    assert "kernels/Activation.h" not in insert(KERNELS, fragment("cos", "  SinParams params;"), params=params)


@pytest.mark.parametrize(
    ("text", "added", "line", "message"),
    [
        (
            KERNELS,
            fragment("round_decimals", "  other();"),
            28,
            "registers round_decimals_kernel for round_decimals_stub",
        ),
        (KERNELS, fragment("cos").replace("cos_kernel_mps", "exp_kernel_mps"), 20, "defines another exp_kernel_mps"),
        ("namespace mps {\n}\n", fragment("cos"), None, "no namespace at::native"),
        (
            f"namespace at::native {{\n\nstatic void\n\n{END}",
            fragment("cos"),
            3,
            "does not end before what is inserted",
        ),
    ],
)
def test_clashes_are_refused(text: str, added: str, line: int | None, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        insert(text, added)
    assert (refused.value.path, refused.value.line) == (PATH, line)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("namespace at::native {\nvoid f() {\n}\n}\n", "stubs/x.mm:1: a fragment opens no scope"),
        ("#if A\nvoid f() {\n}\n#endif\n", "stubs/x.mm:1: a fragment has no #if of its own"),
        ("#include <a.h>\n// nothing\n", "stubs/x.mm: the fragment defines nothing"),
        ("void f() {\n", "stubs/x.mm:1: '{' is never closed"),
    ],
)
def test_a_fragment_that_is_none_is_refused(added: str, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_fragment(added, "stubs/x.mm")
    assert message in str(refused.value)


LEGACY_TEXT = """\
#include <ATen/native/mps/OperationUtils.h>
#include <ATen/ops/cos_native.h>

namespace at::native {

static void graph(const Tensor& self) {
}

#define MAKE(func, op)                                       \\
  static void mps_##func##_kernel(TensorIteratorBase& iter) { \\
    graph(iter.input(0), #op);                                \\
  }                                                           \\
  REGISTER_DISPATCH(func##_stub, mps_##func##_kernel)

MAKE(ceil, ceil);

TORCH_IMPL_FUNC(cos_out_mps)(const Tensor& self, const Tensor& out) {
  graph(self);
}

TORCH_IMPL_FUNC(sin_out_mps)(const Tensor& self, const Tensor& out) {
}

// Runs a graph.
static void isposinf_kernel_mps(TensorIteratorBase& iter) {
  graph(iter.input(0));
}

REGISTER_DISPATCH(isposinf_stub, &isposinf_kernel_mps);

} // namespace at::native
"""


def place(target: str, added: str, *functions: str, library: str = "") -> HostEdit:
    files = {PATH: KERNELS, LEGACY: LEGACY_TEXT}
    edit = place_fragment(HostFiles(files), target, read_fragment(added), functions, library=library)
    left = {path: text for path, text in {**files, **edit.files}.items() if text is not None}
    for path, text in left.items():
        split(text, path)
    assert not place_fragment(HostFiles(left), target, read_fragment(added), functions).files
    return edit


def test_a_stub_takes_the_place_of_a_legacy_function() -> None:
    edit = place(PATH, fragment("cos"), "cos_out_mps")
    assert "REGISTER_UNARY_TI_DISPATCH(cos);" in (edit.files[PATH] or "")
    legacy = edit.files[LEGACY]
    assert legacy is not None and "cos" not in legacy and "graph" in legacy


def test_a_stub_that_ran_a_graph_moves_and_takes_its_macro_along() -> None:
    edit = place(PATH, fragment("ceil"))
    assert "REGISTER_UNARY_TI_DISPATCH(ceil);" in (edit.files[PATH] or "")
    legacy = edit.files[LEGACY]
    assert legacy is not None and "MAKE" not in legacy and "isposinf" in legacy


def test_the_body_of_a_registered_stub_is_replaced_in_its_place() -> None:
    added = fragment("isposinf", '  check(iter);\n  lib.exec_unary_kernel(iter, "isposinf");')
    edit = place(LEGACY, added, library="UnaryKernel")
    legacy = edit.files[LEGACY]
    assert legacy is not None and list(edit.files) == [LEGACY]
    assert "// Runs a graph.\nstatic void isposinf_kernel_mps(TensorIteratorBase& iter) {\n  check(iter);\n" in legacy
    assert legacy.count("isposinf_stub") == 1
    assert "UnaryKernel_metallib.h" in legacy


def test_a_legacy_function_gets_a_new_body_under_its_name() -> None:
    head = "TORCH_IMPL_FUNC(cos_out_mps)(const Tensor& self, const Tensor& out) {\n"
    added = f"#include <ATen/ops/cos_native.h>\n\n{head}  lib.run();\n}}\n"
    edit = place(LEGACY, added)
    legacy = edit.files[LEGACY]
    assert legacy is not None
    assert f"{head}  lib.run();\n}}\n\nTORCH" in legacy
    assert "cos_native.h" in legacy
    moved = place(PATH, added)
    assert "cos" not in (moved.files[LEGACY] or "") and "  lib.run();" in (moved.files[PATH] or "")


def test_helpers_of_a_new_body_stand_above_the_first_that_needs_them() -> None:
    """Functions are replaced where they stand, and C++ looks no further than what stands above."""
    helper = "// Runs it.\nstatic void inner(const Tensor& x) {\n  lib.run(x);\n}\n"
    outer = "static void outer(const Tensor& x) {\n  inner(x);\n}\n"
    unused = "static void later() {}\n"
    bodies = [
        f"TORCH_IMPL_FUNC({name}_out_mps)(const Tensor& self, const Tensor& out) {{\n  outer(out);\n}}\n"
        for name in ("sin", "cos")
    ]
    edit = place(LEGACY, "\n".join([helper, outer, unused, *bodies]))
    legacy = edit.files[LEGACY]
    assert legacy is not None
    assert f"\n\n{helper}\n{outer}\n{bodies[1]}\n{bodies[0]}" in legacy
    assert legacy.count("void inner") == legacy.count("void outer") == legacy.count("void later") == 1
    assert legacy.index("void later") > legacy.index("isposinf_kernel_mps")


def test_a_macro_line_is_replaced_by_a_function_written_out() -> None:
    text = (
        "#define MAKE(f) TORCH_IMPL_FUNC(f)(const Tensor& a) { graph(); }\nnamespace at::native {\n"
        "MAKE(cos_out_mps)\nMAKE(sin_out_mps)\n}\n"
    )
    added = read_fragment("TORCH_IMPL_FUNC(sin_out_mps)(const Tensor& a) {\n  metal();\n}\n")
    edit = place_fragment(HostFiles({LEGACY: text}), LEGACY, added)
    assert edit.files[LEGACY] == text.replace("MAKE(sin_out_mps)\n", "\n" + added.pieces[0].text)


def test_a_fragment_that_calls_what_goes_is_refused() -> None:
    with pytest.raises(Refusal, match="the fragment uses cos_out_mps, which goes"):
        place(PATH, fragment("cos", "  cos_out_mps(iter.input(0), iter.output());"), "cos_out_mps")


def test_a_target_that_loses_all_it_had_starts_afresh() -> None:
    files = {LEGACY: "// Copyright\n\nnamespace at::native {\nTensor cos_mps() {\n}\n}\n"}
    edit = place_fragment(HostFiles(files), LEGACY, read_fragment(fragment("cos")), ["cos_mps"])
    after = edit.files[LEGACY]
    assert after is not None and after.startswith("// Copyright\n") and "cos_kernel_mps" in after
