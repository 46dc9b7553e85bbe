#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

static void threshold_kernel(TensorIteratorBase& iter, const Scalar& threshold, const Scalar& value) {
  const auto dtype = iter.common_dtype();
  if (isFloatingType(dtype)) {
    const ThresholdParams<float> params{threshold.to<float>(), value.to<float>()};
    lib.exec_binary_kernel_with_params(iter, "threshold", params, "ThresholdParams_float");
    return;
  }
  AT_DISPATCH_INTEGRAL_TYPES(dtype, "threshold_mps", [&]() {
    // Both scalars take the tensor's dtype first, as on CPU.
    const ThresholdParams<int64_t> params{threshold.to<scalar_t>(), value.to<scalar_t>()};
    lib.exec_binary_kernel_with_params(iter, "threshold", params, "ThresholdParams_long");
  });
}

REGISTER_DISPATCH(threshold_stub, &threshold_kernel)
