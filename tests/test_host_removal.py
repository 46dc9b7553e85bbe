"""Legacy functions leave with exactly what died with them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pipeline.edits.definitions import definitions, registrations
from pipeline.edits.host import HostEdit, remove_legacy
from pipeline.edits.hostfile import HostFiles, UnreadableFile
from pipeline.edits.includes import Headers
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal

OPERATIONS = "aten/src/ATen/native/mps/operations"
UNARY = f"{OPERATIONS}/UnaryOps.mm"


def remove(
    files: Mapping[str, str] | str, *functions: str, stubs: tuple[str, ...] = (), kept: tuple[str, ...] = ()
) -> HostEdit:
    """Removes, and checks what must hold of every removal."""
    texts = {UNARY: files} if isinstance(files, str) else files
    headers = Headers(lambda path: texts.get(f"aten/src/{path}"))
    edit = remove_legacy(HostFiles(texts), functions, stubs, kept, headers)
    left = {path: text for path, text in {**texts, **edit.files}.items() if text is not None}
    for path, after in edit.files.items():
        lines = iter(texts[path].split("\n"))
        assert all(line in lines for line in (after or "").split("\n")[:-1]), "only deletes lines"
        split(after or "", path)
    again = remove_legacy(HostFiles(left), functions, stubs, kept, headers)
    assert not again.files
    return edit


def removed_text(text: str, *functions: str, **more: tuple[str, ...]) -> str | None:
    return remove(text, *functions, **more).files.get(UNARY, text)


MACROS = """\
#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/abs_native.h>
#include <ATen/ops/neg_native.h>
#include <ATen/ops/sin_native.h>
#endif

namespace at::native {

#define MAKE(func_out, graph_op)                            \\
  TORCH_IMPL_FUNC(func_out##_mps)(const Tensor& self) {     \\
    run(self, ^(Graph* g) { return [g graph_op##Of:self]; }); \\
  }

// Plain ones
MAKE(abs_out, absolute)
MAKE(neg_out, negative);

// The odd one
MAKE(sin_out, sine)

} // namespace at::native
"""


def test_a_macro_line_goes_and_its_siblings_stay() -> None:
    after = removed_text(MACROS, "abs_out_mps")
    assert after == MACROS.replace("#include <ATen/ops/abs_native.h>\n", "").replace("MAKE(abs_out, absolute)\n", "")


def test_a_heading_goes_with_its_last_line() -> None:
    after = removed_text(MACROS, "abs_out_mps", "neg_out_mps")
    assert after is not None
    assert "Plain ones" not in after
    assert "#define MAKE" in after
    assert "\n\n\n" not in after


def test_the_macro_goes_with_its_last_use_and_the_file_with_its_last_content() -> None:
    assert remove(MACROS, "abs_out_mps", "neg_out_mps", "sin_out_mps").files == {UNARY: None}


def test_expanded_names_are_found_where_the_text_has_none() -> None:
    host = HostFiles({UNARY: MACROS})
    assert [(found.line, found.macro) for found in definitions(host, "sin_out_mps")] == [(25, "MAKE")]
    assert definitions(host, "sin_out") == ()


HELPERS = """\
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {
namespace mps {

enum Mode { SLOW, FAST };
using Check = bool (*)(const Tensor&);

struct Cached : public MPSCachedGraph {
  Tensor* input = nil;
};

static int even(int n);

// Only odd and even call each other.
static int odd(int n) {
  return n ? even(n - 1) : 0;
}

static int even(int n) {
  return n ? odd(n - 1) : 1;
}

static void dead_before() {
  shared();
}

static void shared() {
}

// Runs a graph.
static void run(const Tensor& self, Check check, Mode mode = FAST) {
  auto cached = Lookup<Cached>(self);
  even(cached->shared);
}

} // namespace mps

TORCH_IMPL_FUNC(abs_out_mps)(const Tensor& self, const Tensor& out) {
  mps::run(self, nullptr);
  mps::shared();
}

Tensor neg_mps(const Tensor& self) {
  using Cached = MPSUnaryCachedGraph;
  return Lookup<Cached>(self, "odd", /* even */ 1);
}

} // namespace at::native
"""


def test_helpers_go_to_a_fixpoint_cycles_included() -> None:
    edit = remove(HELPERS, "abs_out_mps")
    names = [(item.kind, item.name) for item in edit.removed if item.kind != "comment"]
    assert names == [
        ("type", "Mode, SLOW, FAST"),
        ("alias", "Check"),
        ("type", "Cached"),
        ("declaration", "even"),
        ("function", "odd"),
        ("function", "even"),
        ("function", "run"),
        ("function", "abs_out_mps"),
    ]
    after = edit.files[UNARY]
    assert after is not None
    assert "Only odd" not in after and "Runs a graph" not in after


def test_what_was_dead_before_stays_with_what_it_needs() -> None:
    after = removed_text(HELPERS, "abs_out_mps", "neg_mps")
    assert after is not None
    assert "dead_before()" in after and "static void shared()" in after


def test_an_enumerator_keeps_its_enum() -> None:
    kept = HELPERS.replace("return Lookup", "auto mode = mps::SLOW;\n  return Lookup")
    after = removed_text(kept, "abs_out_mps")
    assert after is not None and "enum Mode" in after and "struct Cached" not in after


UTILS_H = """\
#pragma once

@interface MPSGraph (Fixups)
- (Tensor*)leastOf:(Tensor*)a and:(Tensor*)b;
- (Tensor*)mostOf:(Tensor*)a and:(Tensor*)b;
@end

@interface MPSGraph (FromApple)
- (Tensor*)cumulativeSum:(Tensor*)a;
@end

namespace at::native::mps {
Tensor* both(const Tensor& a, const Tensor& b);
Tensor* one(const Tensor& a);
} // namespace at::native::mps
"""
UTILS_MM = """\
#include <ATen/native/mps/Utils.h>

@implementation MPSGraph (Fixups)
- (Tensor*)leastOf:(Tensor*)a and:(Tensor*)b {
  return [self least:a and:b];
}

- (Tensor*)mostOf:(Tensor*)a and:(Tensor*)b {
  return [self most:a and:b];
}
@end

namespace at::native::mps {

Tensor* both(const Tensor& a, const Tensor& b) {
  return nil;
}

Tensor* one(const Tensor& a) {
  return nil;
}

} // namespace at::native::mps
"""
BINARY_MM = """\
#include <ATen/native/mps/Utils.h>

namespace at::native {

#define MAKE(name, op) \\
  TORCH_IMPL_FUNC(name)(const Tensor& a, const Tensor& b) { [graph op##Of:a and:mps::both(a, b)]; }

MAKE(min_out_mps, least)
MAKE(max_out_mps, most)

TORCH_IMPL_FUNC(sum_out_mps)(const Tensor& a) {
  [graph cumulativeSum:mps::one(a)];
}

} // namespace at::native
"""
FOLDER = "aten/src/ATen/native/mps"
TREE = {
    f"{FOLDER}/Utils.h": UTILS_H,
    f"{FOLDER}/Utils.mm": UTILS_MM,
    f"{OPERATIONS}/BinaryOps.mm": BINARY_MM,
}


def test_a_method_of_our_category_goes_with_its_last_message() -> None:
    edit = remove(TREE, "min_out_mps")
    assert edit.files[f"{FOLDER}/Utils.h"] == UTILS_H.replace("- (Tensor*)leastOf:(Tensor*)a and:(Tensor*)b;\n", "")
    assert "leastOf" not in (edit.files[f"{FOLDER}/Utils.mm"] or "")


def test_an_emptied_category_goes_declaration_and_implementation() -> None:
    edit = remove(TREE, "min_out_mps", "max_out_mps")
    header, source = edit.files[f"{FOLDER}/Utils.h"], edit.files[f"{FOLDER}/Utils.mm"]
    assert header is not None and "Fixups" not in header and "FromApple" in header
    assert source is not None and "@implementation" not in source
    assert source.startswith("#include <ATen/native/mps/Utils.h>\n\nnamespace at::native::mps {\n\nTensor* one")


def test_declarations_of_apple_s_methods_stay() -> None:
    edit = remove(TREE, "sum_out_mps")
    assert "cumulativeSum" in (edit.files[f"{FOLDER}/Utils.h"] or "")


def test_an_external_helper_goes_with_its_declaration_unless_another_file_names_it() -> None:
    edit = remove(TREE, "min_out_mps", "max_out_mps")
    assert "both" not in (edit.files[f"{FOLDER}/Utils.h"] or "")
    other = {f"{FOLDER}/Other.cpp": "void f() { at::native::mps::both(a, b); }\n"}
    kept = remove({**TREE, **other}, "min_out_mps", "max_out_mps")
    assert "both" in (kept.files[f"{FOLDER}/Utils.h"] or "") and "both" in (kept.files[f"{FOLDER}/Utils.mm"] or "")


def test_a_header_left_empty_goes_with_its_includes() -> None:
    header = "#pragma once\nnamespace at::native::mps {\nvoid helper();\n} // namespace at::native::mps\n"
    files = {
        f"{OPERATIONS}/Helper.h": header,
        f"{OPERATIONS}/Helper.mm": (
            "#include <ATen/native/mps/operations/Helper.h>\n\nnamespace at::native::mps {\n\nvoid helper() {\n}\n\n"
            "void other() {\n}\n\n} // namespace at::native::mps\n"
        ),
        UNARY: (
            "#include <ATen/native/mps/operations/Helper.h>\n\nnamespace at::native {\n\n"
            "Tensor abs_mps(const Tensor& a) {\n  mps::helper();\n}\n\nTensor neg_mps(const Tensor& a) {\n}\n\n"
            "} // namespace at::native\n"
        ),
    }
    edit = remove(files, "abs_mps")
    assert edit.files[f"{OPERATIONS}/Helper.h"] is None
    assert (edit.files[f"{OPERATIONS}/Helper.mm"] or "").startswith("namespace at::native::mps {\n\nvoid other")
    assert (edit.files[UNARY] or "").startswith("namespace at::native {\n\nTensor neg_mps")


INCLUDES = """\
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/Copy.h>
// For the version of Metal
#include <ATen/native/mps/Sonoma.h>
#include <fmt/format.h>
#include <unknown/library.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/_softmax_native.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/abs_native.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sign_mps_dispatch.h>
#include <ATen/ops/unused.h>
#endif

namespace at::native {

TORCH_IMPL_FUNC(abs_out_mps)(const Tensor& self) {
  mps::copy(self.neg(), std::neg(self));
  at::mps::sign_outf(self, self);
  return at::abs_outf([graph sonomaOf:fmt::format("{}", self)]);
}

TORCH_IMPL_FUNC(softmax_mps_out)(const Tensor& self) {
  int sign = self.abs();
  return neg(self);
}

REGISTER_DISPATCH(exp_stub, &exp_kernel)

} // namespace at::native
"""
INCLUDED = {
    f"{FOLDER}/Copy.h": "#pragma once\nnamespace at::native::mps {\nvoid copy(Tensor a, Tensor b);\n}\n",
    f"{FOLDER}/Sonoma.h": "@interface MPSGraph (Sonoma)\n- (void)sonomaOf:(Tensor*)a;\n@end\n",
    "aten/src/ATen/native/UnaryOps.h": "DECLARE_DISPATCH(unary_fn, exp_stub);\n",
}


def test_includes_go_that_only_dead_code_used() -> None:
    edit = remove({**INCLUDED, UNARY: INCLUDES}, "abs_out_mps")
    gone = [item.name for item in edit.removed if item.kind == "include"]
    assert gone == [
        "ATen/native/mps/Copy.h",
        "ATen/native/mps/Sonoma.h",
        "fmt/format.h",
        "ATen/ops/abs.h",
        "ATen/ops/abs_native.h",
        "ATen/ops/sign_mps_dispatch.h",
    ]
    assert "For the version of Metal" not in (edit.files[UNARY] or "")


def test_the_block_of_operator_headers_goes_when_it_empties() -> None:
    text = INCLUDES.replace("#include <ATen/ops/unused.h>\n", "")
    edit = remove({**INCLUDED, UNARY: text}, "abs_out_mps", "softmax_mps_out")
    assert "AT_PER_OPERATOR" not in (edit.files[UNARY] or "")
    assert "ATen/native/UnaryOps.h" in (edit.files[UNARY] or "")


def test_a_header_stays_when_something_comes_through_it_alone() -> None:
    copy = f"#include <ATen/native/Deep.h>\n{INCLUDED[f'{FOLDER}/Copy.h']}"
    deep = {"aten/src/ATen/native/Deep.h": "void register_all();\n"}
    text = INCLUDES.replace("REGISTER_DISPATCH(exp_stub, &exp_kernel)", "static auto all = register_all();")
    edit = remove({**INCLUDED, **deep, f"{FOLDER}/Copy.h": copy, UNARY: text}, "abs_out_mps")
    assert "ATen/native/mps/Copy.h" in (edit.files[UNARY] or "")


def test_names_of_dispatch_rows_decide_over_native_headers() -> None:
    text = "#include <ATen/ops/log_native.h>\nnamespace at::native {\nTensor odd_mps() {\n}\nTensor log_mps() {\n}\n}\n"
    headers = Headers(natives={"log": ["odd_mps"]})
    edit = remove_legacy(HostFiles({UNARY: text}), ["odd_mps"], headers=headers)
    assert (edit.files[UNARY] or "").startswith("namespace")
    edit = remove_legacy(HostFiles({UNARY: text}), ["log_mps"], headers=headers)
    assert (edit.files[UNARY] or "").startswith("#include")


def test_a_function_of_another_namespace_does_not_keep_a_native_header() -> None:
    functions = "Tensor log_mps() {\n}\nTensor g_mps() {\n  CALL;\n}\n"
    text = f"#include <ATen/ops/log_native.h>\nnamespace at::native {{\n{functions}}}\n"
    headers = Headers(natives={"log": ["log_mps", "log_out"]})
    for call, stays in (("other::log_out(1)", False), ("log_out(1)", True), ("at::native::log_out(1)", True)):
        edit = remove_legacy(HostFiles({UNARY: text.replace("CALL", call)}), ["log_mps"], headers=headers)
        assert (edit.files[UNARY] or "").startswith("#include") is stays


LIBRARY = """\
namespace at::native {
using namespace mps;

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/Unary_metallib.h>
#endif

#if !defined(__MAC_14_0)
static void old_system() {
}
#endif

#ifdef __MAC_15_0
static void both() { // new
}
#else
static void both() { // old
}
#endif

Tensor abs_mps(const Tensor& self) {
  old_system();
  both();
  return lib.exec(self, inner);
}

Tensor neg_mps(const Tensor& self) {
  return self;
}

} // namespace at::native

namespace at::native::mps {
static int inner;
} // namespace at::native::mps
"""


def test_the_library_goes_with_its_jit_branch_and_fallbacks_with_their_guards() -> None:
    neg = "Tensor neg_mps(const Tensor& self) {\n  return self;\n}\n"
    assert removed_text(LIBRARY, "abs_mps") == f"namespace at::native {{\n\n{neg}\n}} // namespace at::native\n"


def test_a_using_stays_while_something_draws_on_it() -> None:
    after = removed_text(LIBRARY.replace("return self;", "return inner;"), "abs_mps")
    assert after is not None and "using namespace mps;" in after and "lib" not in after


@pytest.mark.parametrize(
    ("push", "pop"),
    [
        ('C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED("-Wunused")\n', "C10_DIAGNOSTIC_POP()\n"),
        (
            '#pragma clang diagnostic push\n#pragma clang diagnostic ignored "-Wunused"\n',
            "#pragma clang diagnostic pop\n",
        ),
    ],
)
def test_switched_off_warnings_go_with_the_code_they_were_for(push: str, pop: str) -> None:
    text = f"namespace at::native {{\n{push}Tensor f_mps(int a) {{\n}}\n{pop}\nTensor g_mps() {{\n}}\n}}\n"
    assert removed_text(text, "f_mps") == "namespace at::native {\n\nTensor g_mps() {\n}\n}\n"
    assert removed_text(text, "g_mps") == f"namespace at::native {{\n{push}Tensor f_mps(int a) {{\n}}\n{pop}}}\n"


def test_all_overloads_and_forward_declarations_go() -> None:
    text = (
        "namespace at::native {\nTensor f_mps(int);\nTensor f_mps(int a) {\n}\nTensor f_mps(float a) {\n}\n"
        "Tensor g_mps() {\n}\n}\n"
    )
    assert removed_text(text, "f_mps") == "namespace at::native {\nTensor g_mps() {\n}\n}\n"


STUBS = """\
namespace at::native {

#define MAKE(func, op)                             \\
  static void mps_##func##_kernel(Iterator& iter) { \\
    run(iter, #op);                                 \\
  }                                                 \\
  REGISTER_DISPATCH(func##_stub, mps_##func##_kernel)

MAKE(ceil, ceil);
MAKE(floor, floor);

static void run(Iterator& iter, const char* op) {
}

static void where_kernel_mps(Iterator& iter) {
  run(iter, "where");
}

REGISTER_DISPATCH(where_kernel, &where_kernel_mps);

} // namespace at::native
"""


def test_a_registered_stub_goes_with_its_graph() -> None:
    assert [found.macro for found in registrations(HostFiles({UNARY: STUBS}), "ceil_stub")] == ["MAKE"]
    after = removed_text(STUBS, stubs=("ceil_stub",))
    assert after == STUBS.replace("MAKE(ceil, ceil);\n", "")
    after = removed_text(STUBS, stubs=("where_kernel",))
    assert after is not None and "where_kernel_mps" not in after and "static void run" in after
    assert remove(STUBS, stubs=("where_kernel", "ceil_stub", "floor_stub")).files == {UNARY: None}


@pytest.mark.parametrize(
    ("text", "functions", "line", "message"),
    [
        (
            "namespace at::native {\nTensor f_mps() {\n}\nTensor g_mps() {\n  return f_mps();\n}\n}\n",
            ["f_mps"],
            4,
            "g_mps still uses f_mps; remove it in the same change, or keep f_mps",
        ),
        (
            "namespace at::native {\n#define M(a) Tensor a##_mps() { } Tensor a##_mps_() { }\nM(f)\n}\n",
            ["f_mps"],
            3,
            "this M line also makes f_mps_",
        ),
        ("namespace at::native {\nTensor f_mps() { } int x;\n}\n", ["f_mps"], 2, "other code shares its line"),
        ("#define A(x) x {\n\nA(f_mps)\n", ["f_mps"], 3, "what A expands to cannot be read: '{' is never closed"),
        ("namespace at::native {\nTensor f_mps() {\n", ["f_mps"], 2, "'{' is never closed"),
        ("namespace at::native {\nM(a)\nTensor f_mps() {\n}\n(int b) { }\n}\n", ["f_mps"], 3, "read differently"),
    ],
)
def test_what_would_break_the_rest_is_refused(text: str, functions: list[str], line: int, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        remove_legacy(HostFiles({UNARY: text}), functions)
    assert (refused.value.path, refused.value.line) == (UNARY, line)
    assert message in str(refused.value)


def test_a_file_that_cannot_be_read_still_uses_what_it_names() -> None:
    other = f"{OPERATIONS}/Other.mm"
    uneven = "#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n  mps::both(a, b);\n}\n"
    edit = remove({**TREE, other: uneven}, "min_out_mps", "max_out_mps")
    assert other not in edit.files
    assert "both" in (edit.files[f"{FOLDER}/Utils.h"] or "")
    with pytest.raises(Refusal, match="still uses min_out_mps"):
        remove({**TREE, other: uneven.replace("mps::both", "min_out_mps")}, "min_out_mps")


def test_macros_of_a_header_that_cannot_be_evaluated_serve() -> None:
    header = "#define MAKE(name) Tensor name##_mps() { return {}; }\n#define OPEN(x) x {\nOPEN(enum)\n"
    other = '#include "ATen/native/mps/Outer.h"\nnamespace at::native {\nMAKE(odd)\n}\n'
    outer = "#include <ATen/native/mps/Macros.h>\nOPEN(enum)\n"
    host = HostFiles({f"{FOLDER}/Macros.h": header, f"{FOLDER}/Outer.h": outer, UNARY: other})
    assert isinstance(host[f"{FOLDER}/Macros.h"], UnreadableFile) and isinstance(
        host[f"{FOLDER}/Outer.h"], UnreadableFile
    )
    assert [(found.line, found.macro) for found in definitions(host, "odd_mps")] == [(3, "MAKE")]


def test_functions_that_are_not_there_are_reported() -> None:
    edit = remove(MACROS, "tan_out_mps", "abs_out_mps")
    assert edit.missing == ("tan_out_mps",)


def test_a_row_function_stays_though_only_a_removed_one_called_it() -> None:
    text = "namespace at::native {\nTensor f_mps() {\n}\nTensor g_mps() {\n  return f_mps();\n}\n}\n"
    assert "f_mps" in (removed_text(text, "g_mps", kept=("f_mps",)) or "")
    assert remove(text, "g_mps").files == {UNARY: None}


def test_a_function_of_the_same_name_in_another_namespace_is_another_function() -> None:
    text = "namespace at::native {\nnamespace mps {\nTensor f() {\n}\n}\nTensor f() {\n}\nTensor g() {\n}\n}\n"
    assert removed_text(text, "f") == text.replace("}\nTensor f() {\n}\nTensor g", "}\nTensor g")
