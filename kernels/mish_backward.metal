#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct mish_backward_functor {
  // See mish: m / (m + 2) is tanh(softplus(x)), so 1 - tanh^2 needs no
  // subtraction. The derivative is 1 in float above 20.
  template <typename T>
  inline T operator()(const T grad_output, const T self) {
    const float x = static_cast<float>(self);
    if (x > 20) {
      return grad_output;
    }
    const float n = precise::exp(x);
    const float m = n * (n + 2);
    const float t = m / (m + 2);
    const float sigmoid = n / (n + 1);
    const float derivative = t + x * sigmoid * (2 / (m + 2)) * (1 + t);
    return static_cast<T>(static_cast<float>(grad_output) * derivative);
  }
};

REGISTER_OPMATH_BINARY_OP(mish_backward, float, float);
REGISTER_OPMATH_BINARY_OP(mish_backward, half, half);
REGISTER_OPMATH_BINARY_OP(mish_backward, bfloat, bfloat);
