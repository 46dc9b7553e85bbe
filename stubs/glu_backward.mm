#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/mps/OperationUtils.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/empty.h>
#include <ATen/ops/glu_backward_native.h>
#endif

static void glu_backward_kernel(TensorIteratorBase& iter) {
  using namespace mps;
  const auto dtype = iter.dtype(0);
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(dtype), "glu_backward is not implemented for ", dtype, " on MPS");
  if (!iter.can_use_32bit_indexing()) {
    for (auto&& part : iter.with_32bit_indexing()) {
      glu_backward_kernel(part);
    }
    return;
  }
  if (iter.numel() == 0) {
    return;
  }
  const bool dense = iter.is_contiguous();
  const auto kernel = fmt::format("glu_backward_{}_{}", dense ? "dense" : "strided", scalarToMetalTypeString(dtype));
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

Tensor& glu_backward_mps_out(const Tensor& grad_output, const Tensor& self, const int64_t dim, Tensor& grad_input) {
  TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const auto wrap_dim = maybe_wrap_dim(dim, self.dim());
  const auto size = self.size(wrap_dim);
  TORCH_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", wrap_dim, " is size ", size);
  grad_input.resize_as_(self);
  const auto half = size / 2;
  auto iter = TensorIteratorConfig()
                  .add_owned_output(grad_input.narrow(wrap_dim, 0, half))
                  .add_owned_output(grad_input.narrow(wrap_dim, half, half))
                  .add_owned_const_input(self.narrow(wrap_dim, 0, half))
                  .add_owned_const_input(self.narrow(wrap_dim, half, half))
                  .add_const_input(grad_output)
                  .resize_outputs(false)
                  .build();
  glu_backward_kernel(iter);
  return grad_input;
}

Tensor glu_backward_mps(const Tensor& grad_output, const Tensor& self, const int64_t dim) {
  auto grad_input = at::empty({0}, self.options());
  return glu_backward_mps_out(grad_output, self, dim, grad_input);
}
