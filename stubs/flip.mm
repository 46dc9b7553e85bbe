#include <ATen/TensorIterator.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/native/mps/OperationUtils.h>

static void flip_kernel_mps(TensorIterator& iter, const bool quantized) {
  TORCH_CHECK_NOT_IMPLEMENTED(!quantized, "flip is not implemented for quantized tensors on MPS");
  // can_use_32bit_indexing sums strides with their signs, and those of flipped dimensions hide a large extent.
  int64_t extent = 0;
  for (const auto i : c10::irange(iter.ndim())) {
    extent += (iter.shape()[i] - 1) * std::abs(iter.strides(0)[i]);
  }
  if (extent > std::numeric_limits<int32_t>::max()) {
    const auto part = iter.split(iter.get_dim_to_split());
    flip_kernel_mps(*part, quantized);
    flip_kernel_mps(iter, quantized);
    return;
  }
  // The second input only keeps flipped dimensions from being merged; the kernel reads the first.
  lib.exec_unary_kernel(iter, "flip");
}

REGISTER_DISPATCH(flip_stub, &flip_kernel_mps)
