#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void logical_and_mps_kernel(TensorIterator& iter) {
  lib.exec_binary_kernel(iter, "logical_and", std::nullopt, std::nullopt, kBool);
}

REGISTER_DISPATCH(logical_and_stub, &logical_and_mps_kernel)
