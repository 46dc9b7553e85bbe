from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from pipeline.changeset import Changeset, FileChange
from pipeline.checks.completeness import check_completeness
from pipeline.findings import Outcome
from pipeline.manifest import Dispatch, Operator
from pipeline.source import KERNELS, NATIVE_FUNCTIONS, OPERATIONS, MemoryTree

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
    base = MemoryTree({path: text.encode() for path, text in (BEFORE | dict(more)).items()})
    files = [
        FileChange(path, BEFORE[path].encode() if path in BEFORE else None, text.encode())
        for path, text in after.items()
        if BEFORE.get(path) != text
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
