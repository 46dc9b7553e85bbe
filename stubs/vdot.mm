#include <ATen/ceil_div.h>
#include <ATen/native/mps/OperationUtils.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/vdot_native.h>
#endif

Tensor vdot_mps(const Tensor& self, const Tensor& other) {
  using namespace mps;
  if (!self.is_complex()) {
    return at::dot(self, other);
  }
  TORCH_CHECK(
      self.dim() == 1 && other.dim() == 1, "vdot: expected vectors, got ", self.dim(), "D and ", other.dim(), "D");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "vdot: expected one dtype, got ",
              self.scalar_type(),
              " and ",
              other.scalar_type());
  TORCH_CHECK(
      self.numel() == other.numel(), "vdot: expected as many elements, got ", self.numel(), " and ", other.numel());
  if (self.numel() == 0) {
    return at::empty({}, self.options()).zero_();
  }
  const auto a = self.resolve_conj().resolve_neg();
  const auto b = other.resolve_conj().resolve_neg();
  const auto sum_type = kComplexFloat;
  // Sums of groups of threads come first, their sum after them.
  constexpr int64_t threads = 1024;
  const auto groups = std::min<int64_t>(at::ceil_div(a.numel(), 4 * threads), threads);
  const auto partial = at::empty({groups}, self.options().dtype(sum_type));
  const std::array<int64_t, 2> strides = {a.stride(0), b.stride(0)};
  const auto kernel = fmt::format("vdot_{}", scalarToMetalTypeString(a));
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
