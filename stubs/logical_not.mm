#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void logical_not_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "logical_not");
}

REGISTER_DISPATCH(logical_not_stub, &logical_not_kernel_mps)
