#include <ATen/TensorIterator.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/native/mps/OperationUtils.h>

static void flip_kernel_mps(TensorIterator& iter, const bool quantized) {
  TORCH_CHECK_NOT_IMPLEMENTED(!quantized, "flip is not implemented for quantized tensors on MPS");
  // The second input only keeps flipped dimensions from being merged; the kernel reads the first.
  lib.exec_unary_kernel(iter, "flip");
}

REGISTER_DISPATCH(flip_stub, &flip_kernel_mps)
