#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

static void softplus_backward_kernel(TensorIteratorBase& iter, const Scalar& beta, const Scalar& threshold) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.common_dtype()), "softplus_backward is not implemented for ", iter.common_dtype(), " on MPS");
  const SoftplusBackwardParams params{beta.to<float>(), threshold.to<float>()};
  lib.exec_binary_kernel_with_params(iter, "softplus_backward", params, "SoftplusBackwardParams");
}

REGISTER_DISPATCH(softplus_backward_stub, &softplus_backward_kernel)
