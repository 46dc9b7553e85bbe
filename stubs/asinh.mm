#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void asinh_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "asinh");
}

REGISTER_DISPATCH(asinh_stub, &asinh_kernel_mps)
