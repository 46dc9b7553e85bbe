// FAULT 1: half away from zero. FAULT 2: the sign of zero is lost.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct round_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float v = static_cast<float>(x);
#if FAULT == 1
    return static_cast<T>(::metal::sign(v) * ::metal::floor(::metal::fabs(v) + 0.5f));
#elif FAULT == 2
    return static_cast<T>(::metal::rint(v) + 0.0f);
#else
    return static_cast<T>(::metal::rint(v));
#endif
  }
};

REGISTER_UNARY_OP(round, float, float);
REGISTER_UNARY_OP(round, half, half);
REGISTER_UNARY_OP(round, bfloat, bfloat);
