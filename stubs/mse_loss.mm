#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void mse_kernel(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.common_dtype()), "mse_loss is not implemented for ", iter.common_dtype(), " on MPS");
  lib.exec_binary_kernel(iter, "mse");
}

REGISTER_DISPATCH(mse_stub, &mse_kernel)
