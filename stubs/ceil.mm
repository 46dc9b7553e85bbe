#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void ceil_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "ceil");
}

REGISTER_DISPATCH(ceil_stub, &ceil_kernel_mps)
