"""Host functions that dispatch rows name: those that return, those that write an output, those that work in place."""

from __future__ import annotations

from dataclasses import replace

from pipeline.findings import Outcome
from pipeline.numerics.check import run
from pipeline.numerics.job import Job
from pipeline.numerics.result import NumericsResult
from tests.numerics_jobs import shown
from tests.shader_faults import messages

HEAD = """
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;
"""
RELU = (
    HEAD
    + """
struct relu_functor {
  template <typename T> inline T operator()(const T x) { return x < T(0) ? T(0) : x; }
};
REGISTER_UNARY_OP(relu, float, float);
REGISTER_UNARY_OP(relu, int, int);
"""
)
CHECKS = """
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() == kFloat || self.scalar_type() == kInt, "other dtypes");
"""
RETURNS = (
    "Tensor relu_mps(const Tensor& self) {"
    + CHECKS
    + """
  auto out = at::empty_like(self);
  auto iter = TensorIterator::unary_op(out, self);
  lib.exec_unary_kernel(iter, "relu");
  return out;
}
"""
)
IN_PLACE = (
    "Tensor& relu_mps_(Tensor& self) {"
    + CHECKS
    + """
  auto iter = TensorIterator::unary_op(self, self);
  lib.exec_unary_kernel(iter, "relu");
  return self;
}
"""
)


def relu(stub: str, kernel: str = RELU) -> NumericsResult:
    return run(Job("relu", kernel, stub, dtypes=("float32", "int32")))


def test_right_functions_pass_on_every_value() -> None:
    for stub in (RETURNS, IN_PLACE, RETURNS + IN_PLACE):
        result = relu(stub)
        assert result.result.outcome is Outcome.PASSED and not result.result.findings, shown(result)
        assert result.data["elements"] > 1000, "special values were tried"
        assert {"relu_dense_float_float", "relu_strided_float_float"} <= set(result.data["launched"])


def test_a_function_in_place_has_to_write_what_it_is_given() -> None:
    wrong = IN_PLACE.replace("unary_op(self, self)", "unary_op(copy, self)").replace("auto iter", COPY + "auto iter")
    result = relu(wrong.replace("return self", "return copy"))
    assert messages(result, "numerics/value"), shown(result)


COPY = "auto copy = at::empty_like(self); "


def test_a_function_in_place_is_run_on_tensors_that_are_not_dense() -> None:
    result = relu(IN_PLACE.replace("unary_op(self, self)", "unary_op(dense, self)").replace("auto iter", DENSE))
    assert all("in place, " in each.message for each in result.result.findings), shown(result)
    assert messages(result, "numerics/value"), shown(result)


DENSE = "auto dense = self.contiguous(); auto iter"


def test_functions_are_run_beside_registered_ones() -> None:
    registered = """
static void sign_kernel(TensorIteratorBase& iter) { lib.exec_unary_kernel(iter, "sign"); }
REGISTER_DISPATCH(sign_stub, &sign_kernel)
"""
    sign = """
struct sign_functor { template <typename T> inline T operator()(const T x) { return T(x > T(0)) - T(x < T(0)); } };
REGISTER_UNARY_OP(sign, float, float);
REGISTER_UNARY_OP(sign, int, int);
"""
    result = relu(registered + RETURNS, RELU + sign)
    assert result.data["targets"] == ("sign_stub", "relu_mps"), shown(result)
    wrong = relu(registered + RETURNS.replace("return out", "return self"), RELU + sign)
    assert messages(wrong, "numerics/value"), shown(wrong)


def test_a_kernel_that_scribbles_on_its_operand_is_flagged() -> None:
    kernel = (
        HEAD
        + """
kernel void relu_all(
    device float* out [[buffer(0)]], device float* x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  out[i] = x[i] < 0 ? 0 : x[i];
  x[i] = 0;
}
"""
    )
    stub = """
Tensor relu_mps(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() == kFloat, "other dtypes");
  const auto source = self.contiguous();
  auto out = at::empty_like(source);
  if (source.numel() == 0) {
    return out;
  }
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync(stream->queue(), ^() {
    auto encoder = stream->commandEncoder();
    auto pipeline = lib.getPipelineStateForFunc("relu_all");
    [encoder setComputePipelineState:pipeline];
    mtl_setArgs(encoder, out, source);
    mtl_dispatch1DJob(encoder, pipeline, source.numel());
  });
  return out;
}
"""
    right = relu(stub, kernel.replace("  x[i] = 0;\n", ""))
    assert right.result.outcome is Outcome.PASSED, shown(right)
    wrong = relu(stub, kernel)
    assert any("wrote into self" in each for each in messages(wrong, "numerics/out-of-bounds")), shown(wrong)


MASKED_FILL = (
    HEAD
    + """
kernel void masked_fill_float(
    device float* self [[buffer(0)]],
    constant bool* mask [[buffer(1)]],
    constant float& value [[buffer(2)]],
    uint i [[thread_position_in_grid]]) {
  if (mask[i]) {
    self[i] = value;
  }
}
"""
)
MASKED_FILL_STUB = """
Tensor& masked_fill__mps(Tensor& self, const Tensor& mask, const Scalar& value) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() == kFloat, "other dtypes");
  TORCH_CHECK(mask.scalar_type() == kBool, "masks are bool");
  if (self.numel() == 0) {
    return self;
  }
  const auto whole = mask.expand_as(self).contiguous();
  auto filled = self.contiguous();
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync(stream->queue(), ^() {
    auto encoder = stream->commandEncoder();
    auto pipeline = lib.getPipelineStateForFunc("masked_fill_float");
    [encoder setComputePipelineState:pipeline];
    mtl_setArgs(encoder, filled, whole, value.to<float>());
    mtl_dispatch1DJob(encoder, pipeline, filled.numel());
  });
  if (!filled.is_same(self)) {
    self.copy_(filled);
  }
  return self;
}
"""


def test_an_operand_that_is_always_a_mask_is_one_in_every_case() -> None:
    job = Job("masked_fill", MASKED_FILL, MASKED_FILL_STUB, dtypes=("float32",))
    right = run(job)
    assert right.result.outcome is Outcome.PASSED and right.data["elements"] > 1000, shown(right)
    keeps_nan = MASKED_FILL.replace("if (mask[i])", "if (mask[i] && self[i] == self[i])")
    assert messages(run(replace(job, kernel=keeps_nan)), "numerics/nan")
    not_copied = MASKED_FILL_STUB.replace("if (!filled.is_same(self))", "if (filled.is_same(self))")
    assert messages(run(replace(job, stub=not_copied)), "numerics/value")


def test_overloads_of_a_function_are_told_by_where_tensors_stand() -> None:
    of_tensor = MASKED_FILL_STUB.replace("const Scalar& value", "const Tensor& value").replace(
        '"masks are bool");', '"masks are bool");\n  TORCH_CHECK(value.dim() == 0, "one value");'
    )
    right = of_tensor.replace("value.to<float>()", "value.item<float>()")
    both = MASKED_FILL_STUB + right
    job = Job("masked_fill", MASKED_FILL, both, dtypes=("float32",))
    result = run(job)
    assert result.result.outcome is Outcome.PASSED, shown(result)
    wrong = MASKED_FILL_STUB + of_tensor.replace("value.to<float>()", "value.item<float>() + 1")
    assert messages(run(replace(job, stub=wrong)), "numerics/value")
    wrong = MASKED_FILL_STUB.replace("value.to<float>()", "value.to<float>() + 1") + right
    assert messages(run(replace(job, stub=wrong)), "numerics/value")


def test_a_crash_on_a_wrong_call_is_no_refusal() -> None:
    kernel = (
        HEAD
        + """
kernel void dot_all(
    device float* out [[buffer(0)]],
    constant float* a [[buffer(1)]],
    constant float* b [[buffer(2)]],
    constant uint2& n [[buffer(3)]]) {
  float sum = 0;
  for (uint i = 0; i < n.x; ++i) {
    sum += a[i] * b[i];
  }
  out[n.x == n.y ? 0 : 1ul << 40] = sum;
}
"""
    )
    stub = """
Tensor dot_mps(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1 && self.scalar_type() == kFloat, "vectors of float");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "one dtype");
  const auto a = self.contiguous();
  const auto b = other.contiguous();
  auto out = at::empty({}, a.options());
  const std::array<uint32_t, 2> lengths = {static_cast<uint32_t>(a.numel()), static_cast<uint32_t>(b.numel())};
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync(stream->queue(), ^() {
    auto encoder = stream->commandEncoder();
    auto pipeline = lib.getPipelineStateForFunc("dot_all");
    [encoder setComputePipelineState:pipeline];
    mtl_setArgs(encoder, out, a, b, lengths);
    mtl_dispatch1DJob(encoder, pipeline, 1);
  });
  return out;
}
"""
    result = run(Job("dot", kernel, stub, dtypes=("float32",)))
    assert messages(result, "numerics/crash"), shown(result)
    checked = stub.replace(
        "const auto a =", 'TORCH_CHECK(self.numel() == other.numel(), "one length");\n  const auto a ='
    )
    right = run(Job("dot", kernel, checked, dtypes=("float32",)))
    assert right.result.outcome is Outcome.PASSED, shown(right)
