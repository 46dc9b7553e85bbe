"""The paths through host functions: reductions, optional operands, outputs without their shape yet, calls refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.findings import Outcome, Severity
from pipeline.numerics.check import run
from pipeline.numerics.job import Job
from pipeline.numerics.result import NumericsResult

ROOT = Path(__file__).parent.parent
KERNEL = (ROOT / "kernels/binary_cross_entropy.metal").read_text()

HOST = """
Tensor& binary_cross_entropy_out_mps(
    const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, Tensor& loss) {
  TORCH_CHECK(input.scalar_type() == kFloat && target.scalar_type() == kFloat, "float only");
  resize_output(loss, reduction == Reduction::None ? input.sizes() : IntArrayRef{});
  Tensor each = reduction == Reduction::None ? loss : at::empty_like(input);
  auto iter = TensorIteratorConfig()
                  .add_owned_output(at::squeeze(each))
                  .add_owned_const_input(at::squeeze(input))
                  .add_owned_const_input(at::squeeze(target))
                  .build();
  lib.exec_binary_kernel(iter, "binary_cross_entropy");
  if (weight.has_value() && weight->defined()) {
    each.mul_(*weight);
  }
  if (reduction == Reduction::Mean) {
    at::mean_out(loss, each, IntArrayRef{});
  } else if (reduction == Reduction::Sum) {
    at::sum_out(loss, each, IntArrayRef{});
  }
  return loss;
}

Tensor binary_cross_entropy_mps(
    const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction) {
  auto loss = at::empty({0}, input.options());
  return binary_cross_entropy_out_mps(input, target, weight, reduction, loss);
}
"""

JOB = Job("binary_cross_entropy", KERNEL, HOST, dtypes=("float32",))


def shown(result: NumericsResult) -> str:
    return "\n".join(map(str, result.result.findings))


def changed(old: str, new: str) -> Job:
    assert HOST.count(old) == 1
    return replace(JOB, stub=HOST.replace(old, new))


def test_a_right_host_function_passes() -> None:
    result = run(JOB)
    assert result.result.outcome is Outcome.PASSED, shown(result)


FAULTS = [
    ("at::mean_out", "at::sum_out", "numerics/value"),
    ("at::sum_out(loss, each, IntArrayRef{});", "", "numerics/"),
    ("reduction == Reduction::Sum", "reduction == Reduction::None", "numerics/"),
    ("each.mul_(*weight);", "", "numerics/value"),
    ("each.mul_(*weight);", "loss.mul_(*weight);", "numerics/"),
    ("  resize_output(loss, reduction == Reduction::None ? input.sizes() : IntArrayRef{});\n", "", "numerics/"),
    ('"float only");', '"float only");\n  TORCH_CHECK(input.dim() < 3, "rows only");', "numerics/refuses"),
    ('"float only");', '"float only");\n  TORCH_CHECK(!weight.has_value(), "no weight");', "numerics/refuses"),
    ('"float only");', '"float only");\n  TORCH_CHECK(reduction != Reduction::Sum, "no sum");', "numerics/refuses"),
    ('"float only");', '"float only");\n  TORCH_CHECK(input.is_contiguous(), "dense only");', "numerics/refuses"),
]


@pytest.mark.parametrize(("old", "new", "rule"), FAULTS)
def test_a_fault_on_one_path_of_a_host_function_is_flagged(old: str, new: str, rule: str) -> None:
    result = run(changed(old, new))
    assert result.result.outcome is Outcome.FAILED
    assert any(each.rule.startswith(rule) for each in result.result.findings), shown(result)


def test_a_refused_call_is_told_with_what_the_host_said() -> None:
    result = run(changed('"float only");', '"float only");\n  TORCH_CHECK(input.dim() < 3, "rows only");'))
    said = [each.message for each in result.result.findings if each.rule == "numerics/refuses"]
    assert any("refused: rows only" in each for each in said), shown(result)


def test_a_whole_dtype_may_be_refused() -> None:
    result = run(replace(JOB, dtypes=("float32", "float16")))
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
    kernel, stub = (ROOT / f"kernels/{operator}.metal").read_text(), (ROOT / f"stubs/{operator}.mm").read_text()
    assert stub.count(old) == 1
    dtypes = {"vdot": ("complex64",), "isin": ("int32",), "bincount": ("int32",)}
    result = run(Job(operator, kernel, stub.replace(old, new), dtypes=dtypes.get(operator, ("float32",))))
    assert result.result.outcome is Outcome.FAILED, shown(result)
    assert any(each.rule.startswith(rule) for each in result.result.findings), shown(result)


@pytest.mark.parametrize("old", ["self.dim() == 1 && other.dim() == 1", "self.scalar_type() == other.scalar_type()"])
def test_wrong_calls_that_no_error_input_shows_are_warned_of(old: str) -> None:
    kernel, stub = (ROOT / "kernels/vdot.metal").read_text(), (ROOT / "stubs/vdot.mm").read_text()
    assert stub.count(old) == 1
    found = run(Job("vdot", kernel, stub.replace(old, "true"), dtypes=("complex64",))).result.findings
    assert any(each.rule == "numerics/lenient" and each.severity is Severity.WARNING for each in found), found


def test_an_iterator_has_no_lazy_conjugates() -> None:
    kernel, stub = (ROOT / "kernels/conj_physical.metal"), (ROOT / "stubs/conj_physical.mm")
    result = run(Job("conj_physical", kernel.read_text(), stub.read_text(), dtypes=("complex64",)))
    assert result.result.outcome is Outcome.PASSED, shown(result)


def test_what_the_cpu_demands_may_be_demanded() -> None:
    """That the operands of a backward are contiguous, and of one dtype."""
    kernel, stub = (ROOT / "kernels/weight_norm_backward.metal"), (ROOT / "stubs/weight_norm_backward.mm")
    result = run(Job("weight_norm_backward", kernel.read_text(), stub.read_text(), dtypes=("float16",)))
    assert result.result.outcome is Outcome.PASSED, shown(result)
