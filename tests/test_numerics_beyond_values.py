"""What the check sees besides wrong values of elementwise kernels: memory, threads, far offsets, error inputs, rows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pipeline.findings import Outcome
from pipeline.numerics import layouts
from pipeline.numerics.check import run
from pipeline.numerics.job import Job
from tests.numerics_jobs import changed, ours, rules, shown
from tests.shader_faults import changed_headers, check, messages

ROOT = Path(__file__).parent.parent


ROW = """
#include <metal_stdlib>
using namespace metal;
kernel void dot_float(
    device float* out [[buffer(0)]],
    constant float* a [[buffer(1)]],
    constant float* b [[buffer(2)]],
    constant uint& count [[buffer(3)]],
    uint i [[thread_position_in_threadgroup]],
    uint threads [[threads_per_threadgroup]]) {
  threadgroup float partial[256];
  float sum = 0;
  for (uint at = i; at < count; at += threads) {
    sum += a[at] * b[at];
  }
  partial[i] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint half_of = threads / 2; half_of > 0; half_of /= 2) {
    if (i < half_of) {
      partial[i] += partial[i + half_of];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // after each step
  }
  if (i == 0) {
    out[0] = partial[0];
  }
}
"""

HOST = """
Tensor dot_mps(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1 && self.numel() == other.numel(), "dot: two rows of one length");
  TORCH_CHECK(self.scalar_type() == kFloat && other.scalar_type() == kFloat, "dot: float only");
  auto out = at::empty({}, self.options());
  const auto a = self.contiguous();
  const auto b = other.contiguous();
  const uint32_t count = static_cast<uint32_t>(self.numel());
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc("dot_float");
      [encoder setComputePipelineState:pipeline];
      mtl_setArgs(encoder, out, a, b, count);
      [encoder dispatchThreads:MTLSizeMake(256, 1, 1) threadsPerThreadgroup:MTLSizeMake(256, 1, 1)];
    }
  });
  return out;
}
"""

DOT = Job("dot", ROW, HOST, dtypes=("float32",), kernel_path="kernels/dot.metal")


def test_a_right_reduction_passes_and_refuses_what_the_cpu_refuses() -> None:
    result = run(DOT)
    assert result.result.outcome is Outcome.PASSED, shown(result)
    assert "error inputs refused" in result.result.summary


ROW_FAULTS = [
    (
        "kernel",
        "    threadgroup_barrier(mem_flags::mem_threadgroup); // after each step\n",
        "",
        "numerics/race",
        "read of",
    ),
    ("kernel", "at < count", "at <= count", "numerics/out-of-bounds", "of argument"),
    ("kernel", "partial[i] = sum;", "if (i < count) partial[i] = sum;", "numerics/unwritten-read", "partial"),
    ("kernel", "at += threads", "at += 1024", "numerics/value", "dot("),
    ("kernel", "if (i < half_of) {", "if (i >= half_of) { break; } else {", "numerics/divergence", "barrier"),
    ("kernel", "out[0] = partial[0];", "out[0] = fmax(partial[0], -3e38f);", "numerics/nan", "expected nan"),
    ("stub", "self.numel() == other.numel()", "true", "numerics/accepted", "the CPU refuses this"),
]


@pytest.mark.parametrize(("part", "old", "new", "rule", "said"), ROW_FAULTS)
def test_a_fault_of_a_reduction_is_flagged(part: str, old: str, new: str, rule: str, said: str) -> None:
    result = run(changed(DOT, part, old, new))
    assert result.result.outcome is Outcome.FAILED
    assert any(each.rule == rule and said in each.message for each in result.result.findings), shown(result)


def test_a_stride_left_out_of_a_one_dimensional_kernel_is_flagged() -> None:
    result = run(changed(ours("bincount", "int32"), "kernel", "input[index * stride]", "input[index]"))
    assert result.result.outcome is Outcome.FAILED


def test_a_kernel_that_strays_far_is_stopped_and_the_rest_still_checked() -> None:
    result = run(changed(DOT, "kernel", "out[0] = partial[0]", "out[1ul << 40] = partial[0]"))
    assert {"numerics/crash", "numerics/out-of-bounds"} & rules(result), shown(result)


def test_a_stub_that_forgets_about_32_bit_offsets_is_flagged() -> None:
    job = ours("mse_loss_backward", "float32")
    right = run(job)
    assert right.result.outcome is Outcome.PASSED, shown(right)
    wrong = run(changed(job, "stub", "if (!iter.can_use_32bit_indexing()) {", "if (false) {"))
    assert any("vast" in each.message for each in wrong.result.findings), shown(wrong)


def test_far_rows_take_no_memory() -> None:
    placed = layouts.place(torch.arange(6.0).reshape(3, 2), "vast")
    assert placed.view.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert (placed.view.stride(0) * 2) > 2**32
    assert placed.kept().numel() == 0


def test_a_helper_that_does_not_split_is_no_fault_of_the_kernel_but_said() -> None:
    result = check("clamp", dtypes=("float32",)).result
    assert result.outcome is Outcome.PASSED, [str(each) for each in result.findings]
    assert any("2**31" in line and "until 2.14" in line for line in result.not_covered)


def test_a_fault_of_a_cast_out_kernel_in_its_second_dimension_is_flagged(tmp_path: Path) -> None:
    """The output of another dtype has as many layouts as any."""
    changes = (("output_strides, ndim_outtype.x", "output_strides, 1u"),)
    include = changed_headers(tmp_path, "c10/metal/indexing.h", "unary_strided_castout", changes)
    result = check("sqrt", include=include, dtypes=("float32",))
    assert messages(result, "numerics/cast-out"), shown(result)


COMPLEX_FAULTS = [
    ("asinh", "copysign(INFINITY, z.x), angle", "angle, copysign(INFINITY, z.x)"),
    ("asinh", "const float2 unit(isinf(a.x) ? 1 : 0,", "const float2 unit(isinf(a.x) ? 0 : 1,"),
]


@pytest.mark.parametrize(("operator", "old", "new"), COMPLEX_FAULTS)
def test_infinite_parts_of_complex_results_are_told_apart(operator: str, old: str, new: str) -> None:
    result = run(changed(ours(operator, "complex64"), "kernel", old, new))
    assert result.result.outcome is Outcome.FAILED


def test_a_small_part_of_a_complex_result_is_not_hidden_by_the_large_one() -> None:
    """The real part of atanh is small beside the imaginary one where the argument is large."""
    job = ours("atanh", "complex64")
    assert run(job).result.findings == ()
    result = run(changed(job, "kernel", "if (size > 1e18f) {", "if (size > 1e30f) {"))
    assert rules(result), shown(result)


UNREACHED_FAULTS = [
    ("bincount", "int32", "weights[index * strides.y]", "weights[index]", "weights in another dtype"),
    ("std_mean", "float32", "part_squares[row * parts + i]", "part_squares[row * parts]", "long rows"),
    ("std_mean", "float32", "i += simdgroup_size", "i -= simdgroup_size", "rows of many parts"),
    ("std_mean", "float32", "write_moments(variance + row", "write_moments(variance", "several long rows"),
    ("std_mean", "complex32", "part_mean[index] = part.mean", "part_mean[index] = 0", "long rows"),
    ("vdot", "complex32", "step = long(groups) * threads", "step = threads", "vectors"),
    ("log_sigmoid_backward", "float32", "derivative * static", "derivative / static", "gradients other than one"),
    ("binary_cross_entropy_backward", "float32", "grad_output) *", "grad_output) /", "gradients other than one"),
    ("glu_backward", "float32", "first = sigmoid * grad", "first = sigmoid / grad", "gradients other than one"),
]


@pytest.mark.parametrize(("operator", "dtype", "old", "new", "where"), UNREACHED_FAULTS)
def test_what_opinfo_does_not_reach_is_tried_too(operator: str, dtype: str, old: str, new: str, where: str) -> None:
    result = run(changed(ours(operator, dtype), "kernel", old, new))
    assert result.result.outcome is Outcome.FAILED, where


@pytest.mark.parametrize("operator", ["bincount", "dot", "std_mean", "vdot"])
def test_every_kernel_of_a_reduction_is_launched(operator: str) -> None:
    assert not run(ours(operator)).data["idle"]


def test_numbers_that_the_cpu_refuses_do_not_keep_the_others_from_being_tried() -> None:
    """binary_cross_entropy takes 0 to 1, ends included, where the logarithms are bounded."""
    result = run(
        changed(
            ours("binary_cross_entropy", "float32"), "kernel", "precise::log(x), -100.0f", "precise::log(x), -101.0f"
        )
    )
    assert any("binary_cross_entropy(0.0, " in each.message for each in result.result.findings), shown(result)


def test_such_operators_are_tried_in_every_layout() -> None:
    wrong = changed(ours("binary_cross_entropy", "float32"), "stub", "? loss :", "? loss.contiguous() :")
    result = run(wrong)
    assert "numerics/unwritten" in rules(result), shown(result)
