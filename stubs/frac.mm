#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void frac_kernel_mps(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(iter.dtype()), "frac is not implemented for ", iter.dtype(), " on MPS");
  lib.exec_unary_kernel(iter, "frac");
}

REGISTER_DISPATCH(frac_stub, &frac_kernel_mps)
