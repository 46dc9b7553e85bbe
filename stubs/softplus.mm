#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

static void softplus_kernel(TensorIteratorBase& iter, const Scalar& beta, const Scalar& threshold) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.dtype()), "softplus is not implemented for ", iter.dtype(), " on MPS");
  const SoftplusParams params{beta.to<float>(), threshold.to<float>()};
  lib.exec_unary_kernel_with_params(iter, "softplus", params, "SoftplusParams");
}

REGISTER_DISPATCH(softplus_stub, &softplus_kernel)
