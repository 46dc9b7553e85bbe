"""Style: what upstream's linters and reviewers send back is found on the lines a change writes, and only there."""

from __future__ import annotations

import functools
import random
import re
import textwrap

import pytest

from pipeline.changeset import Changeset, FileChange
from pipeline.checks.style import check_style, check_style_of_fragments
from pipeline.checks.style.text import yaml_findings
from pipeline.checks.style.written import Written
from pipeline.findings import CheckResult, Outcome, Severity
from pipeline.manifest import Operator
from pipeline.pocket.contents import pocket_files
from pipeline.source import COMMON_MPS, KERNELS, NATIVE_FUNCTIONS, OPERATIONS, MemoryTree

METAL = f"{KERNELS}/UnaryKernel.metal"
HOST = f"{OPERATIONS}/UnaryKernel.mm"
HEADER = f"{KERNELS}/UnaryKernel.h"


def check(path: str, after: str, before: str | None = None, **others: str) -> CheckResult:
    files = [FileChange(path, before.encode() if before is not None else None, after.encode())]
    files += [FileChange(other, b"", text.encode()) for other, text in others.items()]
    return check_style(Changeset(Operator("sign"), MemoryTree({}), tuple(files), ()))


def rules(result: CheckResult) -> list[tuple[str, int | None]]:
    return [(finding.rule, finding.line) for finding in result.findings]


def metal(body: str) -> str:
    return f"#include <metal_stdlib>\nusing namespace metal;\n\n{textwrap.dedent(body)}"


def host(body: str) -> str:
    head = "#include <ATen/native/mps/OperationUtils.h>\n\nnamespace at::native {\n\n"
    return f"{head}{textwrap.dedent(body)}\n}} // namespace at::native\n"


KERNEL_FAULTS = {
    "fast math": ("  return fast::exp(x);\n", "style/fast-math"),
    "fast math, qualified": ("  return metal::fast::sin(x);\n", "style/fast-math"),
    "unsuffixed literal": ("  return x * 0.5;\n", "style/unsuffixed-literal"),
    "unsuffixed exponent": ("  return x + 1e-3;\n", "style/unsuffixed-literal"),
    "barrier flags from a variable": ("  threadgroup_barrier(flags);\n", "style/barrier-flags"),
}
GOOD_KERNEL_LINES = [
    "  return precise::exp(x);\n",
    "  return x.fast;\n",
    "  return x * 0.5f + 1e3h + 2 + 0x1p3f;\n",
    "  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);\n",
    "  // fast::exp(x) * 0.5\n",
]


def functor(line: str) -> str:
    return metal(f"struct sign_functor {{\n  inline float operator()(const float x) {{\n  {line}  }}\n}};\n")


@pytest.mark.parametrize("name", KERNEL_FAULTS)
def test_a_habit_in_a_kernel(name: str) -> None:
    line, rule = KERNEL_FAULTS[name]
    result = check(METAL, functor(line))
    assert rules(result) == [(rule, 6)]
    assert result.outcome is Outcome.FAILED


@pytest.mark.parametrize("line", GOOD_KERNEL_LINES)
def test_a_good_kernel_line(line: str) -> None:
    assert rules(check(METAL, functor(line))) == []


def test_macro_bodies_are_code_too() -> None:
    text = metal("#define HALVED(x) (fast::sin(x) * 0.5)\n")
    assert [rule for rule, _ in rules(check(METAL, text))] == ["style/fast-math", "style/unsuffixed-literal"]


def test_what_was_there_before_is_not_of_the_change() -> None:
    before = functor("  return fast::exp(x) * 0.5;\n")
    after = before.replace("struct", "// Moves every line.\nstruct")
    assert rules(check(METAL, after, before)) == []


OPMATH = """\
struct sign_functor {{
  template <typename T>
  inline T operator()(const T x, const T y) {{
{body}
  }}
}};
REGISTER_UNARY_OP(sign, {dtype}, {dtype});
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("    return exp(x);", True),
        ("    return precise::tanh(-x);", True),
        ("    return x * y + x;", True),
        ("    const T z = x * x;\n    return sqrt(z);", True),
        ("    return x * y;", False),
        ("    return x < y ? x : y;", False),
        ("    return static_cast<T>(precise::exp(static_cast<float>(x)));", False),
        ("    const float a = static_cast<float>(x);\n    return static_cast<T>(a * a + a);", False),
        ("    return c10::metal::sqrt(x);", False),
    ],
)
def test_opmath(body: str, found: bool) -> None:
    result = check(METAL, metal(OPMATH.format(body=body, dtype="half")))
    assert [rule for rule, _ in rules(result)] == ["style/opmath"] * found
    assert result.outcome is Outcome.PASSED
    assert rules(check(METAL, metal(OPMATH.format(body=body, dtype="float")))) == []
    promoted = OPMATH.format(body=body, dtype="half").replace("UNARY_OP", "OPMATH_BINARY_OP")
    assert rules(check(METAL, metal(promoted))) == []


HOST_FAULTS = {
    "integer from a scalar": ("if (exp.to<int>() == 2) {", "style/truncated-scalar", Severity.ERROR),
    "wide integer": ("if (exp.to<int64_t>() == 2) {", "style/truncated-scalar", Severity.ERROR),
    "integer by method": ("if (exp.toInt() == 2) {", "style/truncated-scalar", Severity.ERROR),
    "float of whatever": ("if (exp.to<float>() == 2) {", "style/rounded-scalar", Severity.WARNING),
    "macOS version": (
        "if (is_macos_13_or_newer(MacOSVersion::MACOS_VER_15_0_PLUS)) {",
        "style/macos-fallback",
        Severity.ERROR,
    ),
    "availability": ("if (@available(macOS 15.0, *)) {", "style/macos-fallback", Severity.ERROR),
}


def kernel_function(condition: str, above: str = "") -> str:
    return host(
        f"static void sign_kernel(TensorIteratorBase& iter, const Scalar& exp) {{\n{above}  {condition}\n"
        '    lib.exec_unary_kernel(iter, "sign");\n  }\n}\n'
    )


@pytest.mark.parametrize("name", HOST_FAULTS)
def test_a_habit_in_a_stub(name: str) -> None:
    condition, rule, severity = HOST_FAULTS[name]
    found = check(HOST, kernel_function(condition)).findings
    assert {(finding.rule, finding.line, finding.severity) for finding in found} == {(rule, 6, severity)}


@pytest.mark.parametrize(
    ("condition", "above"),
    [
        ("if (exp.equal(2)) {", ""),
        ("if (exp.to<float>() == 2) {", "  TORCH_CHECK(isFloatingType(iter.dtype()));\n"),
        ("if (exp.to<int64_t>() == 2) {", "  TORCH_CHECK(exp.isIntegral(false));\n"),
        ("if (exp.to<scalar_t>() == 2) {", ""),
        ("if (exp.to<double>() == 2) {", ""),
    ],
)
def test_a_good_stub(condition: str, above: str) -> None:
    assert rules(check(HOST, kernel_function(condition, above))) == []


def test_operator_headers_stand_in_their_block() -> None:
    block = "#ifndef AT_PER_OPERATOR_HEADERS\n#include <ATen/Functions.h>\n#else\n#include <ATen/ops/sum.h>\n#endif\n"
    assert rules(check(HOST, block)) == []
    assert rules(check(HOST, f"#include <ATen/ops/empty.h>\n\n{block}")) == [("style/include-order", 1)]


def test_includes_are_sorted() -> None:
    text = "#include <ATen/native/UnaryOps.h>\n#include <ATen/TensorIterator.h>\n"
    assert rules(check(HOST, text)) == [("style/clang-format", 1)]
    assert rules(check(HOST, "\n".join(reversed(text.split("\n"))).lstrip() + "\n")) == []


def test_params_stand_in_a_shared_header() -> None:
    struct = "struct SignParams {\n  float scale;\n};\n"
    assert rules(check(METAL, metal(struct))) == [("style/params-header", 4)]
    assert rules(check(HOST, host(struct))) == [("style/params-header", 5)]
    assert rules(check(HEADER, f"#pragma once\n\n{struct}")) == []
    assert rules(check(METAL, metal(f"template <typename T>\n{struct}"))) == [("style/params-header", 4)]


def test_the_plan_moves_a_struct_of_a_kernel_but_not_of_a_stub() -> None:
    struct = "struct SignParams {\n  float scale;\n};\n"
    tree = MemoryTree({})
    assert rules(check_style_of_fragments(("k.metal", metal(struct)), ("s.mm", ""), tree)) == []
    found = check_style_of_fragments(("k.metal", metal(struct)), ("s.mm", struct), tree)
    assert rules(found) == [("style/params-header", 1)]


def test_functions_of_a_header_are_inline() -> None:
    body = "float twice(float x) {\n  return x + x;\n}\n"
    for before in ("inline ", "template <typename T>\n", "static inline ", "constexpr "):
        assert rules(check(HEADER, f"#pragma once\n\n{before}{body}")) == []
    assert rules(check(HEADER, f"#pragma once\n\n{body}")) == [("style/missing-inline", 3)]


def test_kernel_and_stub_have_one_stem() -> None:
    good = check(METAL, metal("constant int x = 1;\n"), **{HOST: "static int y;\n"})
    assert rules(good) == []
    other = check(METAL, metal("constant int x = 1;\n"), **{f"{OPERATIONS}/TensorCompare.mm": "static int y;\n"})
    assert rules(other) == [("style/stem-mismatch", None)]
    assert rules(check(METAL, metal("constant int x = 1;\n"))) == []


# Layout


def test_clang_format_looks_at_added_lines() -> None:
    before = metal("constant int  ugly=1;\n\nconstant int x = 1;\n")
    assert rules(check(METAL, before + "constant int y = 2;\n", before)) == []
    [finding] = check(METAL, before + "constant int y=2;\n", before).findings
    assert (finding.rule, finding.line) == ("style/clang-format", 7)
    assert finding.hint == "write 'constant int y = 2;'"


def test_clang_format_looks_at_what_a_removal_leaves() -> None:
    before = host("static int one = 1;\n\nstatic int two = 2;\n\nstatic int three = 3;\n")
    assert rules(check(HOST, before.replace("static int two = 2;\n\n", ""), before)) == []
    assert rules(check(HOST, before.replace("static int two = 2;\n", ""), before)) == [("style/clang-format", 7)]


def test_the_two_languages_have_their_own_width() -> None:
    line = f"static int wide = {'1 + ' * 20}1;\n"
    assert rules(check(HOST, host(line))) == []
    assert {rule for rule, _ in rules(check(METAL, metal(line)))} == {"style/clang-format"}


def test_the_trees_own_style_goes_first() -> None:
    text = metal("struct sign_functor {\n    int x;\n};\n")
    assert rules(check(METAL, text)) == [("style/clang-format", 5)]
    files = (FileChange(METAL, None, text.encode()),)
    tree = MemoryTree({".clang-format": b"Language: Cpp\nBasedOnStyle: Google\nIndentWidth: 4\n"})
    result = check_style(Changeset(Operator("sign"), tree, files, ()))
    assert rules(result) == [] and "with the tree's clang-format style" in result.summary


# Text


def test_white_space() -> None:
    text = "a = 1 \nb = 2\n\tc = 3\nd = 4\r\n\n"
    found = check("torch/notes.txt", text)
    assert rules(found) == [("style/white-space", line) for line in (1, 3, 4, 4)]
    assert rules(check("torch/notes.txt", "a = 1")) == [("style/white-space", 1)]
    assert rules(check("torch/notes.txt", "a = 1\n", "a = 1 \n")) == []


def test_includes_in_quotes() -> None:
    assert rules(check(METAL, '#include "c10/metal/utils.h"\n')) == [("style/quoted-include", 1)]


# Python


def test_python_that_was_formatted_stays_so() -> None:
    before = 'SKIPS = {\n    "sign": None,\n    "sgn": [torch.int8],\n}\n'
    assert rules(check(COMMON_MPS, before.replace('    "sgn": [torch.int8],\n', ""), before)) == []
    found = check(COMMON_MPS, before.replace('"sign": None,', '"sign":None,'), before).findings
    assert [(finding.rule, finding.hint) for finding in found] == [("style/python-format", "write '\"sign\": None,'")]
    unformatted = "x = {'a':1}\n"
    assert rules(check(COMMON_MPS, unformatted + "y = {'b':2}\n", unformatted)) == []


def test_an_import_that_an_edit_left_unused() -> None:
    before = "import os\nimport sys\n\nprint(os, sys)\n"
    found = check(COMMON_MPS, before.replace("os, sys", "os"), before).findings
    assert [(finding.rule, finding.line) for finding in found] == [("style/python-lint", 2)]
    assert "sys" in found[0].message
    assert rules(check(COMMON_MPS, "import os\n\nprint(1)\n", "import os\n\nprint(0)\n")) == []


def test_python_that_does_not_parse() -> None:
    assert "style/python-lint" in {rule for rule, _ in rules(check(COMMON_MPS, "x = {\n", "x = {}\n"))}


# native_functions.yaml


@functools.cache
def native_functions() -> str:
    return pocket_files()[NATIVE_FUNCTIONS].decode()


def test_entries_of_the_real_file_survive_the_round_trip() -> None:
    text = native_functions()
    starts = [match.start() for match in re.finditer(r"^- func:", text, re.MULTILINE)]
    chosen = random.Random(1).sample(range(len(starts)), 60)
    lines = frozenset(text.count("\n", 0, starts[at]) + 1 for at in chosen)
    assert list(yaml_findings(Written(NATIVE_FUNCTIONS, text, None, lines))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    CPU, CUDA: sign_out\n", "      CPU, CUDA: sign_out\n"),
        ("    CPU, CUDA: sign_out\n", "    CPU, CUDA:  sign_out\n"),
        ("    CPU, CUDA: sign_out\n", "    CPU, CUDA: [sign_out\n"),
    ],
)
def test_an_entry_that_ruamel_writes_otherwise(old: str, new: str) -> None:
    before = native_functions()
    assert old in before
    after = before.replace(old, new, 1)
    [finding] = check(NATIVE_FUNCTIONS, after, before).findings
    assert finding.rule == "style/yaml-round-trip"
    assert finding.line is not None and "sign_out" in "".join(after.split("\n")[finding.line - 2 : finding.line + 1])
