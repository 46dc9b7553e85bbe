#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

static void prelu_kernel(TensorIterator& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(iter.dtype()), "prelu is not implemented for ", iter.dtype(), " on MPS");
  lib.exec_binary_kernel(iter, "prelu");
}

REGISTER_DISPATCH(prelu_stub, &prelu_kernel)
