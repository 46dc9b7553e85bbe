"""Kernels and stubs that cannot be run to an end: one sentence each, in good time, and nothing is passed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.checks.numerics import check_numerics
from pipeline.findings import Outcome
from pipeline.numerics import builds, patience
from pipeline.numerics.check import run
from pipeline.numerics.job import Job
from pipeline.numerics.result import NumericsResult
from tests.shader_faults import changed_headers, messages

KERNEL = """
#include <c10/metal/indexing.h>
using namespace metal;
using namespace c10::metal;
struct rsqrt_functor {{
  template <typename T>
  inline T operator()(const T x) {{ {body} }}
}};
REGISTER_UNARY_OP(rsqrt, float, float);
"""
RIGHT = "return precise::rsqrt(x);"


def check(body: str = RIGHT, stub: str | None = None, kernel: str = KERNEL) -> NumericsResult:
    return run(Job("rsqrt", kernel.format(body=body), stub, dtypes=("float32", "int32"), stub_path="my/rsqrt.mm"))


def test_a_kernel_that_does_not_end_is_stopped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "LONGEST", 0.3)
    result = check("volatile bool again = isnan(x); while (again) {} return precise::rsqrt(x);")
    assert result.result.outcome is Outcome.FAILED
    crashes = messages(result, "numerics/crash")
    assert len(crashes) == 1 and "still running at the end of its time" in crashes[0]


def test_a_kernel_that_writes_over_what_is_not_its_own_is_told_what_it_did(tmp_path: Path) -> None:
    """It may take the process with it, which says nothing of the reason."""
    kernel = """
#include <metal_stdlib>
using namespace metal;
kernel void rsqrt_dense_scalar_float_float(
    device float* out [[buffer(0)]], constant float* x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  for (uint step = 0; step < 4096; step++) {
    out[i + step] = precise::rsqrt(x[i]);
  }
}
"""
    stub = """
static void f(TensorIteratorBase& iter) {
  TORCH_CHECK(iter.common_dtype() == kFloat && iter.is_contiguous(), "other tensors are not served");
  lib.exec_unary_kernel(iter, "rsqrt");
}
REGISTER_DISPATCH(rsqrt_stub, &f)
"""
    result = check_numerics(Job("rsqrt", kernel, stub, dtypes=("float32",)), cache=tmp_path)
    assert result.result.outcome is Outcome.FAILED
    assert any("rsqrt_dense_scalar_float_float" in each for each in messages(result, "numerics/out-of-bounds"))
    assert not any("died of signal" in each for each in messages(result, "numerics/crash"))


def test_a_result_that_is_cast_wrongly_is_shown_on_one_element(tmp_path: Path) -> None:
    include = changed_headers(
        tmp_path, "c10/metal/indexing.h", "unary_dense_castout", (("f(input[index])", "f(input[index]) + res_t(1)"),)
    )
    result = run(Job("rsqrt", KERNEL.format(body=RIGHT), None, (str(include),), dtypes=("float32",)))
    (said,) = messages(result, "numerics/cast-out")
    assert said.startswith("rsqrt on float32 in dense_castout: rsqrt(0.5) is ")
    (report,) = (each for each in result.data["reports"] if each["rule"] == "numerics/cast-out")
    assert "library.rsqrt_dense_castout_float(output, self" in report["reproduction"]


def test_kernels_that_take_too_long_are_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_LONGEST", 0.01)
    result = check()
    assert result.result.outcome is Outcome.FAILED
    assert any("the cases after this one were not tried" in each for each in messages(result, "numerics/slow"))


def test_a_kernel_of_other_arguments_than_the_helper_binds_is_an_error_for_each_dtype() -> None:
    kernel = """
#include <c10/metal/indexing.h>
struct rsqrt_functor {{
  template <typename T>
  inline T operator()(const T x, const T y) {{ {body} return x + y; }}
}};
REGISTER_BINARY_OP(rsqrt, float, float);
"""
    result = check("", kernel=kernel)
    assert result.result.outcome is Outcome.FAILED
    raised = messages(result, "numerics/raises")
    assert len(raised) == 1 and "rsqrt_dense_scalar_float_float takes 3 arguments, got 2" in raised[0]


def test_a_file_that_registers_nothing_is_an_error() -> None:
    result = check(kernel="#include <metal_stdlib>\n")
    assert result.result.outcome is Outcome.FAILED
    assert messages(result, "numerics/missing-kernel") == ["the file registers no kernel"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("f(iter);", "my/rsqrt.mm: f calls itself without end"),
        ("while (true) {}", "my/rsqrt.mm:1: the stub loops without end"),
        ("g(iter);", "my/rsqrt.mm"),
    ],
)
def test_a_stub_that_cannot_be_followed_is_not_run(body: str, said: str) -> None:
    result = check(stub=f"static void f(TensorIteratorBase& iter) {{ {body} }}\nREGISTER_DISPATCH(rsqrt_stub, &f)")
    assert result.result.outcome is Outcome.NOT_RUN
    assert said in result.result.summary


def test_a_stub_that_would_end_the_process_is_an_error() -> None:
    body = "auto none = 1 / (iter.numel() - iter.numel());"
    result = check(stub=f"static void f(TensorIteratorBase& iter) {{ {body} }}\nREGISTER_DISPATCH(rsqrt_stub, &f)")
    assert result.result.outcome is Outcome.FAILED
    assert any("my/rsqrt.mm:1: integer division by zero" in each for each in messages(result, "numerics/raises"))


def test_a_stub_that_refuses_everything_is_not_passed() -> None:
    body = 'TORCH_CHECK(false, "not on MPS"); lib.exec_unary_kernel(iter, "rsqrt");'
    result = check(stub=f"static void f(TensorIteratorBase& iter) {{ {body} }}\nREGISTER_DISPATCH(rsqrt_stub, &f)")
    assert result.result.outcome is Outcome.NOT_RUN
    assert result.result.summary == "nothing was compared: not on MPS"


def test_an_operator_that_torch_does_not_have_is_not_run() -> None:
    result = run(Job("no_such_operator", KERNEL.format(body=RIGHT), dtypes=("float32",)))
    assert (result.result.outcome, result.result.summary) == (
        Outcome.NOT_RUN,
        "torch has no operator no_such_operator",
    )


def test_a_stub_that_runs_nothing_leaves_its_output_unwritten() -> None:
    result = check(stub="static void f(TensorIteratorBase& iter) {}\nREGISTER_DISPATCH(rsqrt_stub, &f)")
    assert result.result.outcome is Outcome.FAILED
    assert messages(result, "numerics/unwritten")
