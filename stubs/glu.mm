#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

static void glu_kernel(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.common_dtype()), "glu is not implemented for ", iter.common_dtype(), " on MPS");
  lib.exec_binary_kernel(iter, "glu");
}

REGISTER_DISPATCH(glu_stub, &glu_kernel)
