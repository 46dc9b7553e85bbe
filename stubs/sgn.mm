#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void sgn_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "sgn");
}

REGISTER_DISPATCH(sgn_stub, &sgn_kernel_mps)
