#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void airy_ai_kernel_mps(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !isComplexType(iter.common_dtype()), "special_airy_ai is not implemented for ", iter.common_dtype(), " on MPS");
  lib.exec_unary_kernel(iter, "airy_ai");
}

REGISTER_DISPATCH(special_airy_ai_stub, &airy_ai_kernel_mps)
