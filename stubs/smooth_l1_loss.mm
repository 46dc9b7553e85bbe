#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void smooth_l1_kernel(TensorIteratorBase& iter, double beta) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.common_dtype()), "smooth_l1_loss is not implemented for ", iter.common_dtype(), " on MPS");
  lib.exec_binary_kernel(iter, "smooth_l1", Scalar(beta), kFloat);
}

REGISTER_DISPATCH(smooth_l1_stub, &smooth_l1_kernel)
