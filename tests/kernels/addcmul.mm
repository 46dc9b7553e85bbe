#include <ATen/OpMathType.h>
#include <ATen/native/PointwiseOps.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/mps/OperationUtils.h>
#include <fmt/format.h>

static void addcmul_mps_kernel(TensorIteratorBase& iter, const Scalar& value) {
  using namespace mps;
  const auto dtype = iter.common_dtype();
  TORCH_CHECK_NOT_IMPLEMENTED(
      !isComplexType(dtype) && dtype != kBool, "addcmul is not implemented for ", dtype, " on MPS");
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) {
      addcmul_mps_kernel(part, value);
    }
    return;
  }
  if (iter.numel() == 0) {
    return;
  }
  const auto code = [&](int operand) {
    const auto type = iter.dtype(operand);
    return static_cast<uint32_t>(type == kDouble ? kFloat : type);
  };
  const std::array<uint32_t, 4> types = {code(0), code(1), code(2), code(3)};
  bool dense = iter.is_contiguous();
  for (const auto type : types) {
    dense = dense && type == static_cast<uint32_t>(dtype);
  }
  const auto kernel = fmt::format("addcmul_{}_{}", dense ? "dense" : "strided", scalarToMetalTypeString(dtype));
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync_with_rethrow(stream->queue(), ^() {
    @autoreleasepool {
      auto encoder = stream->commandEncoder();
      auto pipeline = lib.getPipelineStateForFunc(kernel);
      [encoder setComputePipelineState:pipeline];
      bind_iter_tensors(encoder, iter);
      mtl_setArgs<4>(encoder, getMPSScalar(value, toOpMathType(dtype)));
      if (!dense) {
        mtl_setArgs<5>(encoder,
                       iter.shape(),
                       iter.strides(0),
                       iter.strides(1),
                       iter.strides(2),
                       iter.strides(3),
                       static_cast<uint32_t>(iter.ndim()),
                       types);
      }
      mtl_dispatch1DJob(encoder, pipeline, iter.numel());
    }
  });
}

REGISTER_DISPATCH(addcmul_stub, &addcmul_mps_kernel)
