#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void logit_backward_kernel(TensorIteratorBase& iter, const Scalar& eps) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.common_dtype()), "logit_backward is not implemented for ", iter.common_dtype(), " on MPS");
  // In half precision eps would round, and 1 - eps with it.
  lib.exec_binary_kernel(iter, "logit_backward", eps, kFloat);
}

REGISTER_DISPATCH(logit_backward_stub, &logit_backward_kernel)
