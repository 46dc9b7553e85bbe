#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>

static void prelu_backward_kernel(TensorIterator& iter) {
  using namespace mps;
  const auto dtype = iter.dtype(0);
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(dtype), "prelu_backward is not implemented for ", dtype, " on MPS");
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) {
      prelu_backward_kernel(part);
    }
    return;
  }
  if (iter.numel() == 0) {
    return;
  }
  const bool dense = iter.is_contiguous();
  const auto kernel = fmt::format("prelu_backward_{}_{}", dense ? "dense" : "strided", scalarToMetalTypeString(dtype));
  const auto ndim = c10::checked_convert<uint32_t>(iter.ndim(), "uint32_t");
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      bind_iter_tensors(encoder, iter);
      if (!dense) {
        mtl_setArgs<5>(encoder,
                       iter.shape(),
                       iter.strides(0),
                       iter.strides(1),
                       iter.strides(2),
                       iter.strides(3),
                       iter.strides(4),
                       ndim);
      }
      mtl_dispatch1DJob(encoder, pipeline, iter.numel());
    }
  });
}

REGISTER_DISPATCH(prelu_backward_stub, &prelu_backward_kernel)
