#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

static void mish_kernel(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(iter.dtype()), "mish is not implemented for ", iter.dtype(), " on MPS");
  lib.exec_unary_kernel(iter, "mish");
}

REGISTER_DISPATCH(mish_stub, &mish_kernel)
