#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void atanh_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "atanh");
}

REGISTER_DISPATCH(atanh_stub, &atanh_kernel_mps)
