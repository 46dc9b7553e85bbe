#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void huber_kernel(TensorIterator& iter, double delta) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.common_dtype()), "huber_loss is not implemented for ", iter.common_dtype(), " on MPS");
  lib.exec_binary_kernel(iter, "huber", Scalar(delta), kFloat);
}

REGISTER_DISPATCH(huber_stub, &huber_kernel)
