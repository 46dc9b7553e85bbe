#include <ATen/native/BinaryOps.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/mps/OperationUtils.h>

static void igammac_mps_kernel(TensorIteratorBase& iter) {
  TORCH_CHECK_TYPE(isFloatingType(iter.common_dtype()), "igammac is not implemented for ", iter.common_dtype());
  lib.exec_binary_kernel(iter, "igammac");
}

REGISTER_DISPATCH(igammac_stub, &igammac_mps_kernel)
