#include <ATen/TensorIterator.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/mps/OperationUtils.h>

static void isposinf_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "isposinf");
}

REGISTER_DISPATCH(isposinf_stub, &isposinf_kernel_mps)
