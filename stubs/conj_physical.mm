#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void conj_physical_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "conj_physical");
}

REGISTER_DISPATCH(conj_physical_stub, &conj_physical_kernel_mps)
