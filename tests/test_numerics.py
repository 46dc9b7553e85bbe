"""The numerical check: right kernels pass in silence, each planted fault is flagged for the right reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.findings import Outcome
from tests.shader_faults import KERNELS, assert_silent, changed_headers, check, messages


@pytest.mark.parametrize("operator", sorted(path.stem for path in KERNELS.glob("*.metal")))
def test_a_right_kernel_passes_in_silence(operator: str) -> None:
    assert_silent(check(operator))


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
    ("hypot", 1, "numerics/relative", "is 0.0, expected"),
    ("hypot", 2, "numerics/nan", "hypot(inf, nan) is nan, expected inf"),
    ("tanh_backward", 1, "numerics/value", "on complex64"),
    ("tanh_backward", 2, "numerics/infinity", "on float16"),
    ("div_floor", 1, "numerics/nan", "div(inf, 0.5, rounding_mode='floor') is inf, expected nan"),
    ("div_floor", 1, "numerics/value", "div(0.5, -inf, rounding_mode='floor') is -0.0, expected -1.0"),
    ("div_floor", 2, "numerics/value", "on int32"),
    ("div_floor", 3, "numerics/sign-of-zero", "is 0.0, expected -0.0"),
    ("nextafter", 1, "numerics/value", "on bfloat16"),
]


@pytest.mark.parametrize(("operator", "fault", "rule", "said"), FUNCTOR_FAULTS)
def test_a_fault_of_the_functor_is_flagged_for_the_right_reason(
    operator: str, fault: int, rule: str, said: str
) -> None:
    result = check(operator, fault)
    assert result.result.outcome is Outcome.FAILED
    assert any(said in message for message in messages(result, rule)), [str(each) for each in result.result.findings]


INDEXING = "c10/metal/indexing.h"

HEADER_FAULTS = [
    (
        "sub",
        "f(om_t(scalar[0]), om_t(input[tid])));",
        "f(om_t(input[tid]), om_t(scalar[0])));",
        "numerics/value",
        {"dense_scalar_lhs"},
    ),
    (
        "bitwise_left_shift",
        "f(om_t(scalar[0]), om_t(input[tid])));",
        "f(om_t(input[tid]), om_t(scalar[0])));",
        "numerics/value",
        {"dense_scalar_lhs"},
    ),
    (
        "sqrt",
        """  const auto output_offs = offset_from_coord(pos, output_strides, ndim);
  ref_at_offs<res_t>(output, output_offs) =
      f(val_at_offs<T>(input, input_offs));""",
        """  const auto output_offs = offset_from_coord(pos, input_strides, ndim);
  ref_at_offs<res_t>(output, output_offs) =
      f(val_at_offs<T>(input, input_offs));""",
        "numerics/out-of-bounds",
        {"strided"},
    ),
]


@pytest.mark.parametrize(("operator", "old", "new", "rule", "flavours"), HEADER_FAULTS)
def test_a_fault_in_one_flavour_is_flagged_in_that_flavour_alone(
    operator: str, old: str, new: str, rule: str, flavours: set[str], tmp_path: Path
) -> None:
    result = check(operator, include=changed_headers(tmp_path, INDEXING, old, new))
    assert messages(result, rule)
    shown = {flavour for report in result.data["reports"] for flavour in report["flavours"]}
    assert shown == flavours


def test_the_report_says_what_was_not_covered_and_that_this_is_not_a_mac() -> None:
    result = check("round", dtypes=("float32",)).result
    assert any("not a Mac" in line for line in result.not_covered)
    assert "not comparable" in result.summary
