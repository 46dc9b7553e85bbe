"""Kernels along a dimension, with host code of their own: right ones pass, faults of kernel and host code show."""

from __future__ import annotations

import pytest

from pipeline.findings import Outcome
from pipeline.numerics.check import run
from pipeline.numerics.job import Job
from pipeline.numerics.result import NumericsResult
from tests.shader_faults import assert_silent, messages

CUMSUM = """
#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void cumsum(
    device T* out [[buffer(0)]],
    constant T* x [[buffer(1)]],
    constant uint& size [[buffer(2)]],
    constant ulong& inner [[buffer(3)]],
    uint row [[threadgroup_position_in_grid]],
    uint t [[thread_position_in_threadgroup]],
    uint threads [[threads_per_threadgroup]]) {
  threadgroup T sums[256];
  const ulong start = row / inner * size * inner + row % inner;
  T carry = 0;
  for (uint base = 0; base < size; base += threads) {
    const uint i = base + t;
    sums[t] = i < size ? x[start + i * inner] : T(0);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 1; step < threads; step *= 2) {
      const T before = t >= step ? sums[t - step] : T(0);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      sums[t] += before;
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (i < size) {
      out[start + i * inner] = carry + sums[t];
    }
    carry += sums[threads - 1];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

template [[host_name("cumsum_float")]] [[kernel]] decltype(cumsum<float>) cumsum<float>;
template [[host_name("cumsum_long")]] [[kernel]] decltype(cumsum<long>) cumsum<long>;
"""

CUMSUM_HOST = """
TORCH_IMPL_FUNC(cumsum_out_mps)
(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, const Tensor& result) {
  using namespace mps;
  const auto type = result.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(type == kFloat || type == kLong, "cumsum is not implemented for ", type, " on MPS");
  if (result.numel() == 0) {
    return;
  }
  const auto x = self.to(type).contiguous();
  const auto out = result.contiguous();
  const auto wrap_dim = maybe_wrap_dim(dim, x.dim());
  const auto size = x.dim() == 0 ? 1 : x.size(wrap_dim);
  const auto inner = x.dim() == 0 ? 1 : c10::multiply_integers(x.sizes().slice(wrap_dim + 1));
  const auto kernel = fmt::format("cumsum_{}", scalarToMetalTypeString(out));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      mtl_setArgs(encoder, out, x, static_cast<uint32_t>(size), static_cast<uint64_t>(inner));
      const auto rows = MTLSizeMake(x.numel() / size, 1, 1);
      [encoder dispatchThreadgroups:rows threadsPerThreadgroup:MTLSizeMake(256, 1, 1)];
    }
  });
  if (!out.is_same(result)) {
    result.copy_(out);
  }
}
"""

TRACE = """
#include <c10/metal/reduction_utils.h>
#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void trace(
    device T* out [[buffer(0)]],
    constant T* x [[buffer(1)]],
    constant long& step [[buffer(2)]],
    constant long& size [[buffer(3)]],
    uint t [[thread_position_in_threadgroup]],
    uint threads [[threads_per_threadgroup]]) {
  threadgroup T partial[c10::metal::simdgroup_size];
  T sum = 0;
  for (long i = t; i < size; i += threads) {
    sum += x[i * step];
  }
  sum = c10::metal::threadgroup_sum(partial, sum, t, threads);
  if (t == 0) {
    out[0] = sum;
  }
}

template [[host_name("trace_float")]] [[kernel]] decltype(trace<float>) trace<float>;
template [[host_name("trace_long")]] [[kernel]] decltype(trace<long>) trace<long>;
"""

TRACE_HOST = """
Tensor trace_mps(const Tensor& self) {
  using namespace mps;
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix");
  const auto type = self.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(type == kFloat || type == kLong, "trace is not implemented for ", type, " on MPS");
  auto out = at::empty({}, self.options());
  const int64_t size = std::min(self.size(0), self.size(1));
  const int64_t step = self.stride(0) + self.stride(1);
  const auto kernel = fmt::format("trace_{}", scalarToMetalTypeString(self));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      mtl_setArgs(encoder, out, self, step, size);
      [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(256, 1, 1)];
    }
  });
  return out;
}
"""


def check(operator: str, dtype: str, old: str = "", new: str = "") -> NumericsResult:
    """The check of `cumsum` or `trace`, with a change of its kernel or its host code."""
    kernel, host = (CUMSUM, CUMSUM_HOST) if operator == "cumsum" else (TRACE, TRACE_HOST)
    assert old in kernel + host
    return run(Job(operator, kernel.replace(old, new, 1), host.replace(old, new, 1), dtypes=(dtype,)))


@pytest.mark.parametrize(("operator", "dtype"), [("cumsum", "float32"), ("cumsum", "int64"), ("trace", "float32")])
def test_a_right_kernel_passes_in_silence(operator: str, dtype: str) -> None:
    """In whatever order it adds up, and with an output of another dtype in whichever of the two it computes."""
    assert_silent(check(operator, dtype))


def test_lanes_that_a_header_reads_though_they_take_no_part_are_a_warning_said_once() -> None:
    result = check("trace", "int64")
    assert result.result.outcome is Outcome.PASSED
    assert [each.rule for each in result.result.findings] == ["numerics/inactive-lane"]


@pytest.mark.parametrize(
    ("operator", "old", "new", "rule", "said"),
    [
        ("cumsum", "carry += sums[threads - 1];", "carry += sums[threads - 2];", "numerics/value", "cumsum"),
        ("cumsum", "    sums[t] = i < size", "    sums[t] = i <= size", "numerics/out-of-bounds", "cumsum"),
        ("cumsum", "maybe_wrap_dim(dim, x.dim())", "std::max<int64_t>(dim, 0)", "numerics/value", "dim=-"),
        ("cumsum", "if (result.numel() == 0) {", "if (false) {", "numerics/raises", "integer division by zero"),
        ("trace", "i += threads", "i += threads + 1", "numerics/value", "[257, 257]"),
    ],
    ids=["beyond a threadgroup", "one too many", "dimensions from the last", "no elements", "square and large"],
)
def test_a_fault_is_flagged(operator: str, old: str, new: str, rule: str, said: str) -> None:
    result = check(operator, "float32", old, new)
    assert result.result.outcome is Outcome.FAILED
    assert any(said in each for each in messages(result, rule)), [str(each) for each in result.result.findings]
