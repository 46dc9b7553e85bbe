"""The paths through host functions: reductions, optional operands, outputs without their shape yet, calls refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.findings import Outcome, Severity
from pipeline.numerics.check import run
from tests.numerics_jobs import changed, ours, rules, shown
from tests.shader_faults import messages

BCE = ours("binary_cross_entropy", "float32")
GUARD = '" on MPS");'


FAULTS = [
    ("at::mean_out", "at::sum_out", "numerics/value"),
    ("at::sum_out(loss, unreduced, IntArrayRef{});", "", "numerics/"),
    ("reduction == Reduction::Sum", "reduction == Reduction::None", "numerics/"),
    ("unreduced.mul_(*weight);", "", "numerics/value"),
    ("unreduced.mul_(*weight);", "loss.mul_(*weight);", "numerics/"),
    ("resize_output(loss, input.sizes());", "", "numerics/"),
    (GUARD, GUARD + ' TORCH_CHECK(input.dim() < 3, "rows only");', "numerics/refuses"),
    (GUARD, GUARD + ' TORCH_CHECK(!weight.has_value(), "no weight");', "numerics/refuses"),
    (GUARD, GUARD + ' TORCH_CHECK(reduction != Reduction::Sum, "no sum");', "numerics/refuses"),
    (GUARD, GUARD + ' TORCH_CHECK(input.is_contiguous(), "dense only");', "numerics/refuses"),
]


@pytest.mark.parametrize(("old", "new", "rule"), FAULTS)
def test_a_fault_on_one_path_of_a_host_function_is_flagged(old: str, new: str, rule: str) -> None:
    result = run(changed(BCE, "stub", old, new))
    assert result.result.outcome is Outcome.FAILED
    assert any(each.startswith(rule) for each in rules(result)), shown(result)


def test_a_refused_call_is_told_with_what_the_host_said() -> None:
    result = run(changed(BCE, "stub", GUARD, GUARD + ' TORCH_CHECK(input.dim() < 3, "rows only");'))
    assert any("refused: rows only" in each for each in messages(result, "numerics/refuses")), shown(result)


def test_a_whole_dtype_may_be_refused() -> None:
    job = changed(BCE, "stub", "isFloatingType(input.scalar_type())", "input.scalar_type() == kFloat")
    result = run(replace(job, dtypes=("float32", "float16")))
    assert result.result.outcome is Outcome.PASSED, shown(result)


OURS = [
    # Outputs that have no elements yet, and what is returned of them.
    ("glu_backward", "  grad_input.resize_as_(self);\n", "", "numerics/"),
    ("log_sigmoid_forward", "forward_as_tuple(output, buffer)", "forward_as_tuple(buffer, output)", "numerics/raises"),
    # Nothing to compute.
    ("vdot", "if (self.numel() == 0) {", "if (false) {", "numerics/"),
    ("vdot", "at::empty({}, self.options()).zero_()", "at::empty({}, self.options())", "numerics/value"),
    ("where", "iter.numel() == 0", "false", "numerics/raises"),
    # No dimension.
    ("softmax_backward", "y.dim() == 0 ? 1 : y.size(wrap_dim)", "y.size(wrap_dim)", "numerics/refuses"),
    # Lazy conjugates.
    ("vdot", "self.resolve_conj()", "self", "numerics/value"),
    ("vdot", "other.resolve_conj()", "other", "numerics/value"),
    # More dimensions than OpInfo's calls have, in offsets beyond 32 bits.
    ("isin", "exec_isin(part, test_elements, invert);", "exec_isin(part, test_elements, !invert);", "numerics/value"),
    # Calls and operands refused.
    ("bincount", "self.dim() == 1 && self.numel() == 0", "self.dim() == 2 && self.numel() == 0", "numerics/refuses"),
    ("bincount", "weights->size(0) == self.size(0)", "weights->size(0) != self.size(0)", "numerics/refuses"),
]


@pytest.mark.parametrize(("operator", "old", "new", "rule"), OURS)
def test_a_fault_on_one_path_of_ours_is_flagged(operator: str, old: str, new: str, rule: str) -> None:
    dtype = {"vdot": "complex64", "isin": "int32", "bincount": "int32"}.get(operator, "float32")
    result = run(changed(ours(operator, dtype), "stub", old, new))
    assert result.result.outcome is Outcome.FAILED, shown(result)
    assert any(each.startswith(rule) for each in rules(result)), shown(result)


@pytest.mark.parametrize("old", ["self.dim() == 1 && other.dim() == 1", "self.scalar_type() == other.scalar_type()"])
def test_wrong_calls_that_no_error_input_shows_are_warned_of(old: str) -> None:
    found = run(changed(ours("vdot", "complex64"), "stub", old, "true")).result.findings
    assert any(each.rule == "numerics/lenient" and each.severity is Severity.WARNING for each in found), found


def test_an_iterator_has_no_lazy_conjugates() -> None:
    result = run(ours("conj_physical", "complex64"))
    assert result.result.outcome is Outcome.PASSED, shown(result)


def test_what_the_cpu_demands_may_be_demanded() -> None:
    """That the operands of a backward are contiguous, and of one dtype."""
    result = run(ours("weight_norm_backward", "float16"))
    assert result.result.outcome is Outcome.PASSED, shown(result)
