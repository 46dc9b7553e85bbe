#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void acosh_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "acosh");
}

REGISTER_DISPATCH(acosh_stub, &acosh_kernel_mps)
