#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct mish_backward_functor {
  // With n = exp(x) and m = n * (n + 2), tanh(softplus(x)) is m / (m + 2): see
  // mish. Neither it nor 1 - tanh^2 needs a subtraction.
  template <typename T>
  inline T operator()(const T grad_output, const T self) {
    const float x = static_cast<float>(self);
    const float grad = static_cast<float>(grad_output);
    if (isinf(x)) {
      return static_cast<T>(NAN); // as on CPU
    }
    if (x > 20) {
      return grad_output; // the derivative is 1 in float
    }
    if (x < -104) {
      return static_cast<T>(grad * 0); // n is 0
    }
    if (x < -20) {
      // n * (1 + x) is all of it, in two steps because n underflows first.
      const float half_way = precise::exp(0.5f * x);
      return static_cast<T>(grad * half_way * (1 + x) * half_way);
    }
    const float n = precise::exp(x);
    const float m = n * (n + 2);
    const float t = m / (m + 2);
    const float sigmoid = n / (n + 1);
    return static_cast<T>(grad * (t + x * sigmoid * (2 / (m + 2)) * (1 + t)));
  }
};

REGISTER_OPMATH_BINARY_OP(mish_backward, float, float);
REGISTER_OPMATH_BINARY_OP(mish_backward, half, half);
REGISTER_OPMATH_BINARY_OP(mish_backward, bfloat, bfloat);
