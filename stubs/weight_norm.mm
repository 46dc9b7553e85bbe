#include <ATen/native/mps/OperationUtils.h>
#include <c10/metal/common.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/_weight_norm_interface_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#endif

// Norms stay in float, as on CPU and CUDA.
std::tuple<Tensor, Tensor> weight_norm_mps(const Tensor& v, const Tensor& g, int64_t dim) {
  using namespace mps;
  TORCH_CHECK(dim == 0 || dim == v.dim() - 1, "fused kernels can only be applied for first or last dim");
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(v.scalar_type()), "weight_norm is not implemented for ", v.scalar_type(), " on MPS");
  TORCH_CHECK(g.scalar_type() == v.scalar_type(),
              "weight_norm: expected v and g of one dtype, got ",
              v.scalar_type(),
              " and ",
              g.scalar_type());
  const auto slices = v.dim() == 0 ? 1 : v.size(dim);
  TORCH_CHECK(g.numel() == slices, "weight_norm: expected g of ", slices, " elements, got ", g.numel());
  auto w = at::empty_like(v, MemoryFormat::Contiguous);
  auto norms = at::empty(g.sizes(), g.options().dtype(kFloat));
  if (v.numel() == 0) {
    norms.zero_();
    return std::make_tuple(w, norms);
  }
  const auto v_ = v.contiguous();
  const auto g_ = g.contiguous();
  const auto rows = c10::checked_convert<uint32_t>(slices, "uint32_t");
  const auto size = v.numel() / slices;
  const std::array<int64_t, 2> strides = {dim == 0 ? size : 1, dim == 0 ? 1 : slices};
  const auto kernel = fmt::format("weight_norm_{}", scalarToMetalTypeString(v));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      mtl_setArgs(encoder, w, norms, v_, g_, size, strides);
      constexpr NSUInteger width = c10::metal::simdgroup_size;
      const auto most = std::min<NSUInteger>([pipeline maxTotalThreadsPerThreadgroup], 1024);
      const auto threads = std::min<NSUInteger>(c10::metal::round_up<NSUInteger>(size, width), most);
      [encoder dispatchThreadgroups:MTLSizeMake(rows, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    }
  });
  return std::make_tuple(w, norms);
}
