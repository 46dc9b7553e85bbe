#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct binary_cross_entropy_backward_functor {
  // The denominator is kept off zero, so that the gradient is finite at 0
  // and 1.
  template <typename T>
  inline T operator()(const T grad_output, const T input, const T target) {
    const float x = static_cast<float>(input);
    const float difference = x - static_cast<float>(target);
    return static_cast<T>(
        static_cast<float>(grad_output) * difference /
        c10::metal::max((1 - x) * x, 1e-12f));
  }
};

REGISTER_OPMATH_TERNARY_OP(binary_cross_entropy_backward, float, float);
REGISTER_OPMATH_TERNARY_OP(binary_cross_entropy_backward, half, half);
REGISTER_OPMATH_TERNARY_OP(binary_cross_entropy_backward, bfloat, bfloat);
