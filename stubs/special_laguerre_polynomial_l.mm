#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

static void laguerre_polynomial_l_mps_kernel(TensorIteratorBase& iter) {
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(iter.common_dtype()),
                              "special_laguerre_polynomial_l is not implemented for ",
                              iter.common_dtype(),
                              " on MPS");
  lib.exec_binary_kernel(iter, "laguerre_polynomial_l");
}

REGISTER_DISPATCH(laguerre_polynomial_l_stub, &laguerre_polynomial_l_mps_kernel)
