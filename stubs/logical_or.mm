#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void logical_or_mps_kernel(TensorIterator& iter) {
  lib.exec_binary_kernel(iter, "logical_or", std::nullopt, std::nullopt, kBool);
}

REGISTER_DISPATCH(logical_or_stub, &logical_or_mps_kernel)
