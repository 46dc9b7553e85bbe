#include <ATen/native/mps/OperationUtils.h>
#include <c10/metal/common.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/_weight_norm_interface_backward_native.h>
#include <ATen/ops/empty_like.h>
#endif

std::tuple<Tensor, Tensor> weight_norm_backward_mps(
    const Tensor& grad_w, const Tensor& saved_v, const Tensor& saved_g, const Tensor& saved_norms, int64_t dim) {
  using namespace mps;
  TORCH_CHECK(saved_v.is_contiguous(), "saved_v must be contiguous");
  TORCH_CHECK(saved_g.is_contiguous(), "saved_g must be contiguous");
  TORCH_CHECK(saved_norms.is_contiguous(), "saved_norms must be contiguous");
  TORCH_CHECK(dim == 0 || dim == saved_v.dim() - 1, "fused kernels can only be applied for first or last dim");
  const auto dtype = saved_v.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(dtype), "weight_norm_backward is not implemented for ", dtype, " on MPS");
  TORCH_CHECK(saved_g.scalar_type() == dtype && grad_w.scalar_type() == dtype,
              "weight_norm_backward: expected gradient, v and g of one dtype, got ",
              grad_w.scalar_type(),
              ", ",
              dtype,
              " and ",
              saved_g.scalar_type());
  const auto slices = saved_v.dim() == 0 ? 1 : saved_v.size(dim);
  TORCH_CHECK(saved_g.numel() == slices && saved_norms.numel() == slices,
              "weight_norm_backward: expected ",
              slices,
              " elements in g and in the norms, got ",
              saved_g.numel(),
              " and ",
              saved_norms.numel());
  auto grad_v = at::empty_like(saved_v, MemoryFormat::Contiguous);
  auto grad_g = at::empty_like(saved_g, MemoryFormat::Contiguous);
  if (saved_v.numel() == 0) {
    grad_g.zero_();
    return std::make_tuple(grad_v, grad_g);
  }
  const auto grad = grad_w.contiguous();
  const auto norms = saved_norms.to(kFloat);
  const auto rows = c10::checked_convert<uint32_t>(slices, "uint32_t");
  const auto size = saved_v.numel() / slices;
  const std::array<int64_t, 2> strides = {dim == 0 ? size : 1, dim == 0 ? 1 : slices};
  const auto kernel = fmt::format("weight_norm_backward_{}", scalarToMetalTypeString(saved_v));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      mtl_setArgs(encoder, grad_v, grad_g, grad, saved_v, saved_g, norms, size, strides);
      constexpr NSUInteger width = c10::metal::simdgroup_size;
      const auto most = std::min<NSUInteger>([pipeline maxTotalThreadsPerThreadgroup], 1024);
      const auto threads = std::min<NSUInteger>(c10::metal::round_up<NSUInteger>(size, width), most);
      [encoder dispatchThreadgroups:MTLSizeMake(rows, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    }
  });
  return std::make_tuple(grad_v, grad_g);
}
