#include <ATen/TensorIterator.h>
#include <ATen/native/Pow.h>
#include <ATen/native/mps/OperationUtils.h>

static void pow_tensor_tensor_mps_kernel(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(iter.common_dtype() != kBool, "pow is not implemented for Bool on MPS");
  lib.exec_binary_kernel(iter, "pow_tensor_tensor");
}

REGISTER_DISPATCH(pow_tensor_tensor_stub, &pow_tensor_tensor_mps_kernel)
