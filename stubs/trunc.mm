#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void trunc_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "trunc");
}

REGISTER_DISPATCH(trunc_stub, &trunc_kernel_mps)
