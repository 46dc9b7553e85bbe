#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void logit_kernel_mps(TensorIteratorBase& iter, const Scalar& eps) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.common_dtype()), "logit is not implemented for ", iter.common_dtype(), " on MPS");
  // In half precision eps would round, and 1 - eps with it.
  lib.exec_unary_kernel(iter, "logit", eps, kFloat);
}

REGISTER_DISPATCH(logit_stub, &logit_kernel_mps)
