#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct mish_functor {
  // With n = exp(x), tanh(log1p(n)) is n * (n + 2) / (n * (n + 2) + 2): nothing
  // cancels. Above 20 it is 1 in float, and n would overflow in the end. min
  // drops NaN, which comes back with the factor x.
  template <typename T>
  inline T operator()(const T self) {
    const float x = static_cast<float>(self);
    const float n = precise::exp(::metal::min(x, 20.0f));
    const float m = n * (n + 2);
    return static_cast<T>(x * (m / (m + 2)));
  }
};

REGISTER_UNARY_OP(mish, float, float);
REGISTER_UNARY_OP(mish, half, half);
REGISTER_UNARY_OP(mish, bfloat, bfloat);
