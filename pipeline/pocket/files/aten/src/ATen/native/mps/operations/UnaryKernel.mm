#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/TensorIterator.h>
#include <ATen/native/Pow.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/UnaryKernel_metallib.h>
#endif

// The kernel is called as the stub is: `NAME_stub` runs "NAME".
#define REGISTER_UNARY_TI_DISPATCH(NAME)                    \
  static void NAME##_kernel_mps(TensorIteratorBase& iter) { \
    lib.exec_unary_kernel(iter, #NAME);                     \
  }                                                         \
  REGISTER_DISPATCH(NAME##_stub, NAME##_kernel_mps)

REGISTER_UNARY_TI_DISPATCH(exp);
REGISTER_UNARY_TI_DISPATCH(log);
REGISTER_UNARY_TI_DISPATCH(neg);
REGISTER_UNARY_TI_DISPATCH(sin);
REGISTER_UNARY_TI_DISPATCH(sinh);
REGISTER_UNARY_TI_DISPATCH(sqrt);

static void pow_tensor_scalar_kernel(TensorIteratorBase& iter, const Scalar& exponent) {
  // These exponents have kernels of their own, which are exact where pow() only comes close.
  if (!exponent.isComplex() && exponent.equal(.5)) {
    sqrt_kernel_mps(iter);
    return;
  }
  lib.exec_unary_kernel(iter, "pow_scalar", exponent);
}

static void round_decimals_kernel(TensorIteratorBase& iter, int64_t decimals) {
  lib.exec_unary_kernel(iter, "round_decimals", Scalar(decimals), ScalarType::Long);
}

REGISTER_DISPATCH(pow_tensor_scalar_stub, pow_tensor_scalar_kernel);
REGISTER_DISPATCH(round_decimals_stub, round_decimals_kernel);

} // namespace at::native
