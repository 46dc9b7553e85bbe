"""Kernels and stubs that cannot be run to an end: one sentence each, in good time, and nothing is passed."""

from __future__ import annotations

import pytest

from pipeline.findings import Outcome
from pipeline.numerics import builds, patience
from pipeline.numerics.check import run
from pipeline.numerics.job import Job
from pipeline.numerics.result import NumericsResult
from tests.shader_faults import messages

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
        ("auto none = 1 / 0;", "my/rsqrt.mm:1: integer division by zero"),
        ("g(iter);", "my/rsqrt.mm"),
    ],
)
def test_a_stub_that_cannot_be_followed_is_not_run(body: str, said: str) -> None:
    result = check(stub=f"static void f(TensorIteratorBase& iter) {{ {body} }}\nREGISTER_DISPATCH(rsqrt_stub, &f)")
    assert result.result.outcome is Outcome.NOT_RUN
    assert said in result.result.summary


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
