#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void log_ndtr_kernel_mps(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !isComplexType(iter.common_dtype()), "special_log_ndtr is not implemented for ", iter.common_dtype(), " on MPS");
  lib.exec_unary_kernel(iter, "log_ndtr");
}

REGISTER_DISPATCH(special_log_ndtr_stub, &log_ndtr_kernel_mps)
