from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from pipeline.changeset import Changeset, FileChange
from pipeline.checks.completeness import check_completeness
from pipeline.findings import Outcome
from pipeline.manifest import Dispatch, Expectations, Operator
from pipeline.source import KERNELS, NATIVE_FUNCTIONS, OPERATIONS, OPINFOS, MemoryTree

OLD = f"{OPERATIONS}/UnaryOps.mm"
NEW = f"{OPERATIONS}/UnaryKernel.mm"
YAML = """\
- func: sign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: sign_out
    MPS: sign_out_mps
"""
LEGACY = """\
#include <ATen/native/mps/OperationUtils.h>
#include <ATen/ops/frac_native.h>
#include <ATen/ops/sign_native.h>

namespace at::native {
TORCH_IMPL_FUNC(frac_out_mps)(const Tensor& self, const Tensor& output) {
  unary(self, output, @"frac");
}

TORCH_IMPL_FUNC(sign_out_mps)(const Tensor& self, const Tensor& output) {
  unary(self, output, @"sign");
}
} // namespace at::native
"""
NATIVE = """\
#include <ATen/native/UnaryOps.h>

namespace at::native {
static void exp_kernel(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "exp");
}

REGISTER_DISPATCH(exp_stub, &exp_kernel)
} // namespace at::native
"""
ROW_DONE = YAML.replace("    CPU, CUDA: sign_out\n    MPS: sign_out_mps\n", "    CPU, CUDA, MPS: sign_out\n")
BODY = LEGACY[LEGACY.index("\nTORCH_IMPL_FUNC(sign") : LEGACY.index("} // namespace")]
LEGACY_DONE = LEGACY.replace(BODY, "").replace("#include <ATen/ops/sign_native.h>\n", "")
STUB = 'static void sign_kernel(TensorIteratorBase& iter) {\n  lib.exec_unary_kernel(iter, "sign");\n}\n\n'
NATIVE_DONE = NATIVE.replace(
    "REGISTER_DISPATCH", STUB + "REGISTER_DISPATCH(sign_stub, &sign_kernel)\nREGISTER_DISPATCH"
)
BEFORE = {NATIVE_FUNCTIONS: YAML, OLD: LEGACY, NEW: NATIVE}
RIGHT = {NATIVE_FUNCTIONS: ROW_DONE, OLD: LEGACY_DONE, NEW: NATIVE_DONE}
SIGN = Operator("sign", stub="sign_stub")


def change(
    after: dict[str, str], operator: Operator = SIGN, more: Mapping[str, str] = MappingProxyType({})
) -> Changeset:
    before = BEFORE | dict(more)
    base = MemoryTree({path: text.encode() for path, text in before.items()})
    files = [
        FileChange(path, before[path].encode() if path in before else None, text.encode())
        for path, text in after.items()
        if before.get(path) != text
    ]
    return Changeset(operator, base, tuple(files), (), rows=("sign.out",), legacy=("sign_out_mps",))


def rules(changeset: Changeset) -> list[str]:
    return sorted({finding.rule.removeprefix("completeness/") for finding in check_completeness(changeset).findings})


def test_the_whole_migration_passes() -> None:
    result = check_completeness(change(RIGHT))
    assert (result.outcome, result.findings) == (Outcome.PASSED, ())


FAULTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "the body is left": (
        {OLD: LEGACY_DONE.replace("} // namespace", BODY + "} // namespace")},
        ["legacy-definition-left"],
    ),
    "the include is left": (
        {
            OLD: LEGACY_DONE.replace(
                "#include <ATen/ops/frac", "#include <ATen/ops/sign_native.h>\n#include <ATen/ops/frac"
            )
        },
        ["include-left"],
    ),
    "a caller is left": (
        {OLD: LEGACY_DONE.replace('@"frac");', '@"frac");\n  sign_out_mps(self, output);')},
        ["legacy-mention-left"],
    ),
    "nothing is registered": (
        {NEW: NATIVE_DONE.replace("REGISTER_DISPATCH(sign_stub, &sign_kernel)\n", "")},
        ["not-registered"],
    ),
    "registered twice": (
        {OLD: LEGACY_DONE.replace("} // namespace", "REGISTER_DISPATCH(sign_stub, &other)\n} // namespace")},
        ["registered-twice"],
    ),
    "a new file no build finds": ({f"{KERNELS}/deep/Sign.metal": "// kernel\n"}, ["not-built"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str) -> None:
    edits, expected = FAULTS[fault]
    assert all(RIGHT.get(path) != text for path, text in edits.items())
    assert rules(change({**RIGHT, **edits})) == expected


def test_the_line_of_what_is_left_is_named() -> None:
    (finding,) = check_completeness(change({**RIGHT, **FAULTS["a caller is left"][0]})).findings
    assert finding.path == OLD and finding.line is not None
    assert "TORCH_IMPL_FUNC(frac_out_mps)" in LEGACY_DONE.splitlines()[finding.line - 1]


def test_a_new_file_where_the_build_looks_for_it() -> None:
    assert rules(change({**RIGHT, f"{KERNELS}/Sign.metal": "// kernel\n"})) == []


def test_the_trees_own_build_file_decides() -> None:
    cmake = 'file(GLOB native_mps_mm "native/mps/operations/*.mm")\n'
    changed = change({**RIGHT, f"{KERNELS}/Sign.metal": "//\n"}, more={"aten/src/ATen/CMakeLists.txt": cmake})
    assert rules(changed) == ["not-built"]


def test_a_recursive_glob_finds_files_in_folders_below() -> None:
    cmake = 'file(GLOB_RECURSE native_mps_metal "native/mps/*.metal")\nfile(GLOB native_mps_mm "native/mps/*.mm")\n'
    build = {"aten/src/ATen/CMakeLists.txt": cmake}
    assert rules(change({**RIGHT, f"{KERNELS}/Sign.metal": "//\n"}, more=build)) == []
    assert rules(change({**RIGHT, NEW.replace("UnaryKernel", "Sign"): "//\n"}, more=build)) == ["not-built"]


def test_a_function_that_keeps_its_row_keeps_its_name() -> None:
    keep = replace(SIGN, stub="", dispatch=Dispatch.KEEP)
    metal = LEGACY.replace('unary(self, output, @"sign")', "launch(self, output)")
    assert rules(change({OLD: metal}, keep)) == []
    assert rules(change({OLD: LEGACY_DONE}, keep)) == ["definition-missing"]


# What goes along

GRAPH_HELPER = "static void unary(const Tensor& self, const Tensor& output, NSString* op) {\n  runMPSGraph(op);\n}\n"


def with_graph(text: str) -> str:
    return text.replace("namespace at::native {\n", f"namespace at::native {{\n{GRAPH_HELPER}", 1)


def test_a_registered_kernel_that_still_runs_a_graph() -> None:
    kept = with_graph(NATIVE_DONE).replace(
        'lib.exec_unary_kernel(iter, "sign")', 'unary(iter.input(), iter.output(), @"s")'
    )
    (finding,) = check_completeness(change({**RIGHT, NEW: kept})).findings
    assert finding.rule == "completeness/graph-kept"
    assert finding.message == "sign_stub still runs a graph: sign_kernel -> unary -> runMPSGraph"
    assert finding.line == kept[: kept.index("REGISTER_DISPATCH(sign_stub")].count("\n") + 1


def test_a_branch_that_falls_back_to_a_graph() -> None:
    call = '  lib.exec_unary_kernel(iter, "sign")'
    branch = f'  if (iter.numel() > 9) {{\n    unary(iter.input(), iter.output(), @"s");\n  }}\n{call}'
    assert rules(change({**RIGHT, NEW: with_graph(NATIVE_DONE).replace(call, branch)})) == ["graph-kept"]


def test_another_operators_graph_is_not_looked_at() -> None:
    before = {OLD: with_graph(LEGACY)}
    assert rules(change({**RIGHT, OLD: with_graph(LEGACY_DONE)}, more=before)) == []


def test_a_kept_row_whose_function_still_runs_a_graph() -> None:
    keep = replace(SIGN, stub="", dispatch=Dispatch.KEEP)
    assert rules(change({OLD: with_graph(LEGACY)}, keep)) == ["graph-kept"]


LEFT_BEHIND = {
    "a function": "static int scale() {\n  return 2;\n}\n",
    "a type": "struct scale {\n  int by;\n};\n",
    "a macro": "#define scale(x) (2 * (x))\n",
    "a variable": "static const int scale = 2;\n",
}


@pytest.mark.parametrize("what", LEFT_BEHIND)
def test_a_helper_that_only_the_legacy_code_needed(what: str) -> None:
    helper = LEFT_BEHIND[what]
    before = LEGACY.replace("TORCH_IMPL_FUNC(frac", helper + "TORCH_IMPL_FUNC(frac").replace(
        '@"sign")', '@"sign", scale)'
    )
    after = LEGACY_DONE.replace("TORCH_IMPL_FUNC(frac", helper + "TORCH_IMPL_FUNC(frac")
    (finding,) = check_completeness(change({**RIGHT, OLD: after}, more={OLD: before})).findings
    assert (finding.rule, finding.path) == ("completeness/helper-left", OLD)
    assert "nothing needs scale any more" in finding.message
    used = after.replace('@"frac")', '@"frac", scale)')
    assert rules(change({**RIGHT, OLD: used}, more={OLD: before})) == []


def test_a_helper_that_nothing_needed_before_either() -> None:
    helper = LEFT_BEHIND["a function"]
    before, after = (
        text.replace("TORCH_IMPL_FUNC(frac", helper + "TORCH_IMPL_FUNC(frac") for text in (LEGACY, LEGACY_DONE)
    )
    assert rules(change({**RIGHT, OLD: after}, more={OLD: before})) == []


def test_helpers_die_in_turn() -> None:
    helpers = "static int one() {\n  return 1;\n}\n\nstatic int two() {\n  return one();\n}\n\n"
    before = LEGACY.replace("TORCH_IMPL_FUNC(frac", helpers + "TORCH_IMPL_FUNC(frac").replace(
        '@"sign")', '@"sign", two())'
    )
    after = LEGACY_DONE.replace("TORCH_IMPL_FUNC(frac", helpers + "TORCH_IMPL_FUNC(frac")
    found = check_completeness(change({**RIGHT, OLD: after}, more={OLD: before})).findings
    assert [finding.message.split()[2] for finding in found] == ["one", "two"]


# Expectations

OPINFO_TEXT = """\
op_db = [
    UnaryUfuncInfo(
        "sign",
        skips=(
            DecorateInfo(unittest.expectedFailure, "TestCommon", "test_out", device_type="mps"),
        ),
    ),
]
"""
DONE_TEXT = OPINFO_TEXT[: OPINFO_TEXT.index("        skips")] + OPINFO_TEXT[OPINFO_TEXT.index("    ),\n]") :]


def with_opinfos(before: str, after: str, operator: Operator = SIGN) -> list[str]:
    base = MemoryTree({path: text.encode() for path, text in {**BEFORE, OPINFOS: before}.items()})
    texts = {**RIGHT, OPINFOS: after}
    old = {**BEFORE, OPINFOS: before}
    files = [FileChange(path, old[path].encode(), text.encode()) for path, text in texts.items() if old[path] != text]
    return rules(Changeset(operator, base, tuple(files), (), rows=("sign.out",), legacy=("sign_out_mps",)))


def test_an_expectation_that_the_plan_makes_void() -> None:
    assert with_opinfos(OPINFO_TEXT, DONE_TEXT) == []
    assert with_opinfos(OPINFO_TEXT, OPINFO_TEXT) == ["expectation-left"]
    for other in (Expectations.KEEP, Expectations.PROVEN):
        assert with_opinfos(OPINFO_TEXT, OPINFO_TEXT, replace(SIGN, expectations=other)) == []


def test_an_expectation_that_a_change_adds() -> None:
    assert with_opinfos(DONE_TEXT, OPINFO_TEXT.replace("test_out", "test_dtypes")) == ["expectation-added"]
    many = OPINFO_TEXT.replace("test_out", "test_numpy_ref_mps").replace(
        'device_type="mps"', 'device_type="mps", dtypes=(torch.int8, torch.bool)'
    )
    fewer = many.replace("(torch.int8, torch.bool)", "(torch.int8,)")
    assert with_opinfos(many, fewer) == []
    assert with_opinfos(fewer, many) == ["expectation-added"]
    assert with_opinfos(many, many.replace('"sign"', '"sgn"')) == ["expectation-added"]
