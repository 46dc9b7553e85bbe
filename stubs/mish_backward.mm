#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

static void mish_backward_kernel(TensorIterator& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.common_dtype()), "mish_backward is not implemented for ", iter.common_dtype(), " on MPS");
  lib.exec_binary_kernel(iter, "mish_backward");
}

REGISTER_DISPATCH(mish_backward_stub, &mish_backward_kernel)
