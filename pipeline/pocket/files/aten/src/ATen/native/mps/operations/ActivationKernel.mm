#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>
#include <ATen/native/mps/kernels/Activation.h>
#include <fmt/format.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/empty_like.h>
#include <ATen/ops/relu_native.h>
#endif

namespace at::native {

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/ActivationKernel_metallib.h>
#endif

// relu has no stub, so its rows keep functions of their own.
Tensor relu_mps(const Tensor& self) {
  auto output = at::empty_like(self);
  auto iter = TensorIterator::unary_op(output, self);
  lib.exec_unary_kernel(iter, "relu");
  return output;
}

Tensor& relu_mps_(Tensor& self) {
  auto iter = TensorIterator::unary_op(self, self);
  lib.exec_unary_kernel(iter, "relu");
  return self;
}

static void silu_kernel(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "silu");
}

static void silu_backward_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(iter, "silu_backward");
}

static void hardswish_kernel(TensorIterator& iter) {
  lib.exec_unary_kernel(iter, "hardswish");
}

static void leaky_relu_kernel(TensorIteratorBase& iter, const Scalar& negative_slope) {
  lib.exec_unary_kernel(iter, "leaky_relu", negative_slope);
}

static void leaky_relu_backward_kernel(TensorIteratorBase& iter, const Scalar& negative_slope) {
  lib.exec_binary_kernel(iter, "leaky_relu_backward", negative_slope);
}

static void elu_kernel(TensorIteratorBase& iter, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, iter.common_dtype(), "elu_mps", [&]() {
    const ELUParams<scalar_t> params{alpha.to<scalar_t>(), scale.to<scalar_t>(), input_scale.to<scalar_t>()};
    lib.exec_unary_kernel_with_params(
        iter, "elu", params, fmt::format("ELUParams_{}", mps::scalarToMetalTypeString(iter.common_dtype())));
  });
}

REGISTER_DISPATCH(silu_stub, silu_kernel);
REGISTER_DISPATCH(silu_backward_stub, silu_backward_kernel);
REGISTER_DISPATCH(hardswish_stub, hardswish_kernel);
REGISTER_DISPATCH(leaky_relu_stub, leaky_relu_kernel);
REGISTER_DISPATCH(leaky_relu_backward_stub, leaky_relu_backward_kernel);
REGISTER_DISPATCH(elu_stub, elu_kernel);

} // namespace at::native
