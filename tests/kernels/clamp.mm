#include <ATen/TensorIterator.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/mps/OperationUtils.h>

static void clamp_kernel_mps(TensorIteratorBase& iter) {
  lib.exec_ternary_kernel(iter, "clamps");
}

REGISTER_DISPATCH(clamp_stub, &clamp_kernel_mps)
