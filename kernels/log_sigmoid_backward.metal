#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct log_sigmoid_backward_functor {
  // The derivative is sigmoid(-x).
  template <typename T>
  inline T operator()(const T self, const T grad_output) {
    const float x = static_cast<float>(self);
    const float n = precise::exp(-::metal::fabs(x));
    const float derivative = (x < 0 ? 1 : n) / (1 + n);
    return static_cast<T>(derivative * static_cast<float>(grad_output));
  }
};

REGISTER_OPMATH_BINARY_OP(log_sigmoid_backward, float, float);
REGISTER_OPMATH_BINARY_OP(log_sigmoid_backward, half, half);
REGISTER_OPMATH_BINARY_OP(log_sigmoid_backward, bfloat, bfloat);
