#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void sign_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "sign");
}

REGISTER_DISPATCH(sign_stub, &sign_kernel_mps)
