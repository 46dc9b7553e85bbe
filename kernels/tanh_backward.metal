#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct tanh_backward_functor {
  template <typename T, enable_if_t<!is_complex_v<T>, bool> = true>
  inline T operator()(const T grad_output, const T output) {
    return grad_output * (1 - output * output);
  }
  template <typename T, enable_if_t<is_complex_v<T>, bool> = true>
  inline T operator()(const T grad_output, const T output) {
    const auto slope = T(1, 0) - c10::metal::mul(output, output);
    return c10::metal::mul(grad_output, c10::metal::conj(slope));
  }
};

REGISTER_OPMATH_BINARY_OP(tanh_backward, float, float);
REGISTER_OPMATH_BINARY_OP(tanh_backward, half, half);
REGISTER_OPMATH_BINARY_OP(tanh_backward, bfloat, bfloat);
REGISTER_OPMATH_BINARY_OP(tanh_backward, float2, float2);
REGISTER_OPMATH_BINARY_OP(tanh_backward, half2, half2);
