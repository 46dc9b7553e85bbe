#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void sigmoid_backward_kernel(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isIntegralType(iter.common_dtype(), /*includeBool=*/true),
                              "sigmoid_backward is not implemented for ",
                              iter.common_dtype(),
                              " on MPS");
  lib.exec_binary_kernel(iter, "sigmoid_backward");
}

REGISTER_DISPATCH(sigmoid_backward_stub, &sigmoid_backward_kernel)
