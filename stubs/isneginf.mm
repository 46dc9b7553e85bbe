#include <ATen/TensorIterator.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/mps/OperationUtils.h>

static void isneginf_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "isneginf");
}

REGISTER_DISPATCH(isneginf_stub, &isneginf_kernel_mps)
