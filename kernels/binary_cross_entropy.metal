#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct binary_cross_entropy_functor {
  // Logarithms are clamped at -100, so that the loss stays finite at 0 and 1.
  template <typename T>
  inline T operator()(const T input, const T target) {
    const float x = static_cast<float>(input);
    const float y = static_cast<float>(target);
    const float log_x = c10::metal::max(precise::log(x), -100.0f);
    const float log_1_x = c10::metal::max(c10::metal::log1p(-x), -100.0f);
    return static_cast<T>((y - 1) * log_1_x - y * log_x);
  }
};

REGISTER_OPMATH_BINARY_OP(binary_cross_entropy, float, float);
REGISTER_OPMATH_BINARY_OP(binary_cross_entropy, half, half);
REGISTER_OPMATH_BINARY_OP(binary_cross_entropy, bfloat, bfloat);
