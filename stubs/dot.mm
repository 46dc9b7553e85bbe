#include <ATen/ceil_div.h>
#include <ATen/native/mps/OperationUtils.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/dot_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#endif

Tensor dot_mps(const Tensor& self, const Tensor& other) {
  using namespace mps;
  TORCH_CHECK(
      self.dim() == 1 && other.dim() == 1, "dot: expected vectors, got ", self.dim(), "D and ", other.dim(), "D");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "dot: expected one dtype, got ",
              self.scalar_type(),
              " and ",
              other.scalar_type());
  TORCH_CHECK(
      self.numel() == other.numel(), "dot: expected as many elements, got ", self.numel(), " and ", other.numel());
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != kBool, "dot is not implemented for Bool on MPS");
  if (self.numel() == 0) {
    return at::empty({}, self.options()).zero_();
  }
  const auto a = self.resolve_conj().resolve_neg();
  const auto b = other.resolve_conj().resolve_neg();
  const auto dtype = self.scalar_type();
  const auto sum_type = isFloatingType(dtype) ? kFloat : isComplexType(dtype) ? kComplexFloat : kLong;
  // Sums of groups of threads come first, their sum after them.
  constexpr int64_t threads = 1024;
  const auto groups = std::min<int64_t>(at::ceil_div(a.numel(), 4 * threads), threads);
  const auto partial = at::empty({groups}, self.options().dtype(sum_type));
  const std::array<int64_t, 2> strides = {a.stride(0), b.stride(0)};
  const auto kernel = fmt::format("dot_{}", scalarToMetalTypeString(a));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      mtl_setArgs(encoder, partial, a, b, a.numel(), strides);
      const auto width = std::min<NSUInteger>([pipeline maxTotalThreadsPerThreadgroup], threads);
      [encoder dispatchThreadgroups:MTLSizeMake(groups, 1, 1) threadsPerThreadgroup:MTLSizeMake(width, 1, 1)];
    }
  });
  return at::sum(partial).to(self.scalar_type());
}
