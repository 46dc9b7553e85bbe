// FAULT 1: bare Metal min and max turn NaN into a bound. FAULT 2: the upper bound is 7.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct hardsigmoid_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float shifted = static_cast<float>(x) + 3.0f;
#if FAULT == 1
    return static_cast<T>(::metal::min(::metal::max(shifted, 0.0f), 6.0f) / 6.0f);
#elif FAULT == 2
    return static_cast<T>((shifted < 0 ? 0.0f : (shifted > 7 ? 7.0f : shifted)) / 6.0f);
#else
    return static_cast<T>((shifted < 0 ? 0.0f : (shifted > 6 ? 6.0f : shifted)) / 6.0f);
#endif
  }
};

REGISTER_UNARY_OP(hardsigmoid, float, float);
REGISTER_UNARY_OP(hardsigmoid, half, half);
REGISTER_UNARY_OP(hardsigmoid, bfloat, bfloat);
