#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void logical_xor_mps_kernel(TensorIterator& iter) {
  lib.exec_binary_kernel(iter, "logical_xor", std::nullopt, std::nullopt, kBool);
}

REGISTER_DISPATCH(logical_xor_stub, &logical_xor_mps_kernel)
