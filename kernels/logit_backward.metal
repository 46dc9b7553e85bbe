#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct logit_backward_functor {
  // A negative eps stands for none: outside of [0, 1] there is no logit then,
  // while with an eps the clamped range is flat.
  template <typename T>
  inline T operator()(const T grad_output, const T self, const float eps) {
    const float x = static_cast<float>(self);
    const float lo = eps < 0 ? 0 : eps;
    const float hi = eps < 0 ? 1 : 1 - eps;
    if (x < lo || x > hi) {
      return static_cast<T>(eps < 0 ? NAN : 0.0f);
    }
    const float grad = static_cast<float>(grad_output);
    return static_cast<T>(
        x == 0 || x == 1 ? grad * INFINITY : grad / (x * (1 - x)));
  }
};

REGISTER_BINARY_ALPHA_OP(logit_backward, float, float, float);
REGISTER_BINARY_ALPHA_OP(logit_backward, half, float, half);
REGISTER_BINARY_ALPHA_OP(logit_backward, bfloat, float, bfloat);
