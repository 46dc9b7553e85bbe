#include <ATen/native/Activation.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/mps/OperationUtils.h>

static void threshold_kernel(TensorIteratorBase& iter, const Scalar& threshold, const Scalar& value) {
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(iter.common_dtype()), "threshold is for floating point alone");
  const ThresholdParams<float> params{threshold.to<float>(), value.to<float>()};
  lib.exec_binary_kernel_with_params(iter, "threshold", params, "ThresholdParams_float");
}

REGISTER_DISPATCH(threshold_stub, &threshold_kernel)
