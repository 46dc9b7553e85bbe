#include <ATen/native/mps/OperationUtils.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/aminmax.h>
#include <ATen/ops/bincount_native.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#endif

// The CPU sums every weight but float in double, which MPS lacks: sums have the dtype of the weights, those of
// integers at least 32 bits.
Tensor _bincount_mps(const Tensor& self, const std::optional<Tensor>& weights, int64_t minlength) {
  using namespace mps;
  TORCH_CHECK(isIntegralType(self.scalar_type(), /*includeBool=*/true),
              "bincount: expected integers, got ",
              self.scalar_type());
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  if (self.dim() == 1 && self.numel() == 0) {
    return at::zeros({minlength}, self.options().dtype(kLong));
  }
  TORCH_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  const bool weighted = weights.has_value() && weights->defined();
  TORCH_CHECK(!weighted || (weights->dim() == 1 && weights->size(0) == self.size(0)),
              "weights should be 1-d and have the same length as input");
  const auto input = self.scalar_type() == kBool ? self.to(kByte) : self;
  // Both ends come to the CPU in one copy: each would wait for the GPU.
  const auto [least, most] = at::aminmax(input);
  const auto ends = at::stack({least, most}).cpu();
  TORCH_CHECK(ends[0].item<int64_t>() >= 0, "bincount only supports 1-d non-negative integral inputs.");
  const auto bins = std::max(ends[1].item<int64_t>() + 1, minlength);
  // A bin holds no more than 32 bits count.
  const auto threads = c10::checked_convert<int32_t>(self.numel(), "int32_t");

  auto result_type = kLong;
  auto sum_type = kInt;
  if (weighted) {
    const auto dtype = weights->scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(dtype), "bincount is not implemented for weights of ", dtype, " on MPS");
    result_type = isFloatingType(dtype) || dtype == kLong ? dtype : kInt;
    sum_type = isFloatingType(dtype) ? kFloat : result_type;
  }
  const auto sums = at::zeros({bins}, self.options().dtype(sum_type));
  const auto added = weighted ? weights->to(sum_type) : Tensor();
  const auto kernel =
      weighted ? fmt::format("bincount_weighted_{}_{}", scalarToMetalTypeString(input), scalarToMetalTypeString(sums))
               : fmt::format("bincount_{}", scalarToMetalTypeString(input));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      if (weighted) {
        const std::array<int64_t, 2> strides = {input.stride(0), added.stride(0)};
        mtl_setArgs(encoder, sums, input, added, strides);
      } else {
        mtl_setArgs(encoder, sums, input, input.stride(0));
      }
      mtl_dispatch1DJob(encoder, pipeline, threads);
    }
  });
  return sums.to(result_type);
}
