"""The numerical check: right kernels pass in silence, each planted fault is flagged for the right reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.findings import Outcome
from pipeline.numerics.check import run
from pipeline.numerics.job import Job
from tests.project import ROOT
from tests.shader_faults import KERNELS, assert_silent, changed_headers, check, job, messages


@pytest.mark.parametrize("operator", sorted(path.stem for path in KERNELS.glob("*.metal") if path.stem != "igammac"))
def test_a_right_kernel_passes_in_silence(operator: str) -> None:
    assert_silent(check(operator))


def test_the_headers_igammac_is_imprecise_where_its_first_operand_is_tiny() -> None:
    assert_silent(check("igammac"), "numerics/imprecise")


FEW = ("float32", "bfloat16", "int32", "complex64")

FUNCTOR_FAULTS = [
    ("maximum", 1, "numerics/nan", "maximum(nan, 0.5) is 0.5, expected nan"),
    ("maximum", 2, "numerics/nan", "expected nan"),
    ("hardsigmoid", 1, "numerics/nan", "hardsigmoid(nan) is 0.0, expected nan"),
    ("hardsigmoid", 2, "numerics/value", "hardsigmoid(3.5) is 1.08"),
    ("round", 1, "numerics/value", "round(0.5) is 1.0, expected 0.0"),
    ("round", 2, "numerics/sign-of-zero", "round(-0.5) is 0.0, expected -0.0"),
    ("abs", 1, "numerics/value", "abs(16777217) is 16777216, expected 16777217"),
    ("abs", 2, "numerics/infinity", "is inf, expected 2.0"),
    ("hypot", 1, "numerics/infinity", "is inf, expected"),
    ("hypot", 2, "numerics/nan", "hypot(inf, nan) is nan, expected inf"),
    ("tanh_backward", 1, "numerics/value", "on complex64"),
    ("tanh_backward", 2, "numerics/value", "on bfloat16"),
    ("div_floor", 1, "numerics/nan", "div(inf, 0.5, rounding_mode='floor') is inf, expected nan"),
    ("div_floor", 2, "numerics/value", "on int32"),
    ("div_floor", 3, "numerics/sign-of-zero", "is 0.0, expected -0.0"),
    ("nextafter", 1, "numerics/value", "on bfloat16"),
    ("addcmul", 1, "numerics/nan", "addcmul(0.5, 0.5, nan, value=0.0) is 0.5, expected nan"),
    ("addcmul", 2, "numerics/value", "on bfloat16"),
    ("addcmul", 3, "numerics/value", "on int32"),
    ("clamp", 1, "numerics/nan", "expected nan"),
    ("threshold", 1, "numerics/nan", "expected nan"),
    ("threshold", 2, "numerics/value", "threshold"),
    ("threshold", 3, "numerics/value", "threshold"),
]


@pytest.mark.parametrize(("operator", "fault", "rule", "said"), FUNCTOR_FAULTS)
def test_a_fault_of_the_functor_is_flagged_for_the_right_reason(
    operator: str, fault: int, rule: str, said: str
) -> None:
    result = check(operator, fault, dtypes=FEW)
    assert result.result.outcome is Outcome.FAILED
    assert any(said in message for message in messages(result, rule)), [str(each) for each in result.result.findings]


def test_one_fault_can_show_in_several_ways() -> None:
    result = check("hypot", 1, dtypes=("float32",))
    assert any("is 0.0, expected" in message for message in messages(result, "numerics/relative"))
    assert any("is inf, expected" in message for message in messages(result, "numerics/infinity"))


SWAPPED = (("scalar[0]", "@"), ("input[tid]", "scalar[0]"), ("@", "input[tid]"))

HEADER_FAULTS = [
    ("sub", "binary_dense_scalar_lhs", SWAPPED, "float32", "numerics/value", {"dense_scalar_lhs"}),
    ("bitwise_left_shift", "binary_dense_scalar_lhs", SWAPPED, "int32", "numerics/value", {"dense_scalar_lhs"}),
    ("sub", "binary_dense_broadcast", (("tid %", "tid /"),), "float32", "numerics/value", {"dense_broadcast"}),
    ("sub", "binary_dense_ilp", (("i < numel", "i + 1 < numel"),), "float32", "numerics/unwritten", {"dense_ilp4"}),
    ("sub", "binary_dense_cast", (("sizes_types.y", "sizes_types.x"),), "", "numerics/value", {"dense_cast"}),
    ("maximum", "binary_strided_cast", (("types.z", "types.y"),), "", "numerics/value", {"strided_cast"}),
    (
        "sqrt",
        "unary_strided",
        ((" output_strides, n", " input_strides, n"),),
        "",
        "numerics/out-of-bounds",
        {"strided"},
    ),
    ("clamp", "ternary_dense_cast", (("types.z", "types.y"),), "", "numerics/value", {"dense_cast"}),
    ("sqrt", "unary_dense", (("i < numel", "i + 1 < numel"),), "float32", "numerics/unwritten", {"dense"}),
    ("sqrt", "unary_dense_castout", (("size_outtype.x", "4"),), "float32", "numerics/cast-out", {"dense_castout"}),
]


@pytest.mark.parametrize(("operator", "kernel", "changes", "dtype", "rule", "flavours"), HEADER_FAULTS)
def test_a_fault_in_one_flavour_is_flagged_in_that_flavour_alone(
    operator: str,
    kernel: str,
    changes: tuple[tuple[str, str], ...],
    dtype: str,
    rule: str,
    flavours: set[str],
    tmp_path: Path,
) -> None:
    include = changed_headers(tmp_path, "c10/metal/indexing.h", kernel, changes)
    result = check(operator, include=include, dtypes=(dtype,) if dtype else ("float32", "float16", "int32"))
    assert messages(result, rule), [str(each) for each in result.result.findings]
    shown = {flavour for report in result.data["reports"] for flavour in report["flavours"]}
    assert shown == flavours


def test_a_dtype_that_the_stub_lets_through_by_mistake_is_an_error() -> None:
    """The guard refuses integers but forgets complex numbers, for which no kernel is registered."""
    stub = (KERNELS / "igammac.mm").read_text()
    leaky = stub.replace("isFloatingType(iter.common_dtype())", "!isIntegralType(iter.common_dtype(), true)")
    assert leaky != stub
    result = run(replace(job("igammac"), stub=leaky, dtypes=("float32", "int32", "complex64")))
    assert result.result.outcome is Outcome.FAILED
    assert any("igammac_dense_float2_float2" in text for text in messages(result, "numerics/incomplete-guard"))


def test_a_stub_without_any_guard_is_warned_about() -> None:
    stub = 'static void f(TensorIteratorBase& iter) { lib.exec_unary_kernel(iter, "hardsigmoid"); }\n'
    stub += "REGISTER_DISPATCH(hardsigmoid_stub, &f)"
    result = run(replace(job("hardsigmoid"), stub=stub, dtypes=("float32", "int32")))
    assert result.result.outcome is Outcome.PASSED
    assert any("on int32" in text for text in messages(result, "numerics/unguarded-dtype"))


@pytest.mark.parametrize(
    ("operator", "dtypes"),
    [("ceil", ("float32", "int32")), ("sgn", ("float32", "complex64")), ("signbit", ("float32", "complex64"))],
    ids=["answered before the stub", "left to another stub", "refused before the stub"],
)
def test_a_dtype_that_never_gets_to_the_stub_needs_no_guard(operator: str, dtypes: tuple[str, ...]) -> None:
    kernel, stub = (ROOT / "kernels" / f"{operator}.metal", ROOT / "stubs" / f"{operator}.mm")
    assert "TORCH_CHECK" not in stub.read_text()
    assert run(Job(operator, kernel.read_text(), stub.read_text(), dtypes=dtypes)).result.findings == ()


def test_kernels_may_walk_backwards_from_where_an_operand_is_bound() -> None:
    kernel, stub = (ROOT / "kernels" / "flip.metal", ROOT / "stubs" / "flip.mm")
    assert run(Job("flip", kernel.read_text(), stub.read_text(), dtypes=("float32",))).result.findings == ()


def test_a_dtype_the_cpu_serves_must_be_registered() -> None:
    source = (KERNELS / "round.metal").read_text().replace("REGISTER_UNARY_OP(round, half, half);", "")
    result = run(replace(job("round"), kernel=f"#define FAULT 0\n{source}", dtypes=("float16",)))
    assert any("round_dense_castout_half" in text for text in messages(result, "numerics/missing-kernel"))


def test_a_result_of_another_dtype_saved_by_the_cast_out_kernel_is_a_finding() -> None:
    result = check("signbit", 1, dtypes=FEW)
    assert result.result.outcome is Outcome.FAILED
    assert any("cast-out" in text for text in messages(result, "numerics/fallback-only"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("value.to<float>()}", "threshold.to<float>()}", "threshold("),
        ('"threshold", params', '"treshold", params', "treshold_dense_float_float"),
        ("{threshold.to<float>(), value.to<float>()}", "{value.to<float>(), threshold.to<float>()}", "threshold("),
    ],
)
def test_a_fault_of_the_stub_shows(old: str, new: str, said: str) -> None:
    stub = (KERNELS / "threshold.mm").read_text()
    assert stub.count(old) == 1
    result = run(replace(job("threshold"), stub=stub.replace(old, new), dtypes=("float32",)))
    assert result.result.outcome is Outcome.FAILED
    assert any(said in str(finding) for finding in result.result.findings)


def test_a_stub_that_is_not_understood_is_not_passed() -> None:
    stub = (KERNELS / "threshold.mm").read_text().replace("lib.exec", "co_await lib.exec")
    result = run(replace(job("threshold"), stub=stub)).result
    assert result.outcome is Outcome.NOT_RUN
    assert "stubs/threshold.mm:8" in result.summary


def test_what_does_not_compile_is_said_with_its_line() -> None:
    result = run(replace(job("round"), kernel="#include <c10/metal/indexing.h>\nkernel void x( {}\n")).result
    assert result.outcome is Outcome.FAILED
    assert result.findings[0].rule == "numerics/does-not-compile"


def test_an_unknown_operator_is_not_run() -> None:
    assert run(replace(job("round"), operator="frobnicate")).result.outcome is Outcome.NOT_RUN


def test_the_report_says_what_was_not_covered_and_that_this_is_not_a_mac() -> None:
    result = check("round", dtypes=("float32",)).result
    assert any("not a Mac" in line for line in result.not_covered)
    assert "not comparable" in result.summary
