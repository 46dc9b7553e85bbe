#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

static void hardtanh_backward_kernel(TensorIterator& iter, const Scalar& min, const Scalar& max) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(iter.common_dtype()), "hardtanh_backward is not implemented for ", iter.common_dtype(), " on MPS");
  const HardtanhBackwardParams params{min.to<float>(), max.to<float>()};
  lib.exec_binary_kernel_with_params(iter, "hardtanh_backward", params, "HardtanhBackwardParams");
}

REGISTER_DISPATCH(hardtanh_backward_stub, &hardtanh_backward_kernel)
