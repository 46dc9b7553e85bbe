#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void tanh_backward_kernel(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isIntegralType(iter.common_dtype(), /*includeBool=*/true),
                              "tanh_backward is not implemented for ",
                              iter.common_dtype(),
                              " on MPS");
  lib.exec_binary_kernel(iter, "tanh_backward");
}

REGISTER_DISPATCH(tanh_backward_stub, &tanh_backward_kernel)
