#include <ATen/WrapDimUtils.h>
#include <ATen/native/mps/OperationUtils.h>
#include <c10/metal/common.h>
#include <c10/util/TypeCast.h>
#include <c10/util/accumulate.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/_softmax_backward_data_native.h>
#endif

TORCH_IMPL_FUNC(softmax_backward_mps_out)
(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType input_dtype, const Tensor& grad_input) {
  using namespace mps;
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(output.scalar_type()),
                              "softmax_backward is not implemented for ",
                              output.scalar_type(),
                              " on MPS");
  if (output.numel() == 0) {
    return;
  }
  const auto grad = grad_output.contiguous();
  const auto y = output.contiguous();
  const auto result = grad_input.contiguous();
  const auto wrap_dim = maybe_wrap_dim(dim, y.dim());
  const auto dim_size = y.dim() == 0 ? 1 : y.size(wrap_dim);
  const auto inner = y.dim() == 0 ? 1 : c10::multiply_integers(y.sizes().slice(wrap_dim + 1));
  const auto size = c10::checked_convert<uint32_t>(dim_size, "uint32_t");
  const auto rows = c10::checked_convert<uint32_t>(y.numel() / dim_size, "uint32_t");
  const auto kernel =
      fmt::format("softmax_backward_{}_{}", scalarToMetalTypeString(result), scalarToMetalTypeString(grad));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      mtl_setArgs(encoder, result, grad, y, size, static_cast<uint64_t>(inner));
      const auto width = [pipeline threadExecutionWidth];
      const auto most = std::min<NSUInteger>([pipeline maxTotalThreadsPerThreadgroup], 1024);
      const auto threads = std::min<NSUInteger>(c10::metal::round_up<NSUInteger>(size, width), most);
      [encoder dispatchThreadgroups:MTLSizeMake(rows, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    }
  });
  if (!result.is_same(grad_input)) {
    grad_input.copy_(result);
  }
}
