#include <ATen/TensorIterator.h>
#include <ATen/native/PointwiseOps.h>
#include <ATen/native/mps/OperationUtils.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>
#include <algorithm>

static void huber_backward_kernel(TensorIterator& iter, const Scalar& norm, double delta) {
  using namespace mps;
  const auto dtype = iter.common_dtype();
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(dtype), "huber_loss_backward is not implemented for ", dtype, " on MPS");
  const HuberBackwardParams params{norm.to<float>(), static_cast<float>(delta)};
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) {
      huber_backward_kernel(part, norm, delta);
    }
    return;
  }
  if (iter.numel() == 0) {
    return;
  }
  const auto metal_type = [&](int operand) {
    // A double on the CPU side is bound as a float.
    const auto type = iter.dtype(operand);
    return static_cast<uint32_t>(type == kDouble ? kFloat : type == kComplexDouble ? kComplexFloat : type);
  };
  const std::array<uint32_t, 4> types = {metal_type(0), metal_type(1), metal_type(2), metal_type(3)};
  const bool cast =
      std::any_of(types.begin(), types.end(), [&](auto type) { return type != static_cast<uint32_t>(dtype); });
  const bool dense = !cast && iter.is_contiguous();
  const auto kernel = fmt::format("huber_backward_{}_{}",
                                  cast    ? "strided_cast"
                                  : dense ? "dense"
                                          : "strided",
                                  scalarToMetalTypeString(dtype));
  const auto ndim = c10::checked_convert<uint32_t>(iter.ndim(), "uint32_t");
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      bind_iter_tensors(encoder, iter);
      mtl_setArgs<4>(encoder, params);
      if (!dense) {
        mtl_setArgs<5>(encoder, iter.shape(), iter.strides(0), iter.strides(1), iter.strides(2), iter.strides(3), ndim);
      }
      if (cast) {
        mtl_setBytes(encoder, types, 11);
      }
      mtl_dispatch1DJob(encoder, pipeline, iter.numel());
    }
  });
}

REGISTER_DISPATCH(huber_backward_stub, &huber_backward_kernel)
