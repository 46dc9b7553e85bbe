#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void signbit_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "signbit");
}

REGISTER_DISPATCH(signbit_stub, &signbit_kernel_mps)
