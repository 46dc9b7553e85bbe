#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void floor_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "floor");
}

REGISTER_DISPATCH(floor_stub, &floor_kernel_mps)
