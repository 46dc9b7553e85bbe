#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void heaviside_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(iter, "heaviside");
}

REGISTER_DISPATCH(heaviside_stub, &heaviside_mps_kernel)
