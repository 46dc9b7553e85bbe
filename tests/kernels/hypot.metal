// FAULT 1: overflows and underflows. FAULT 2: the header's function, which says NaN for (inf, NaN).
#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct hypot_functor {
  template <typename T>
  inline T operator()(const T x, const T y) {
    const float a = ::metal::fabs(static_cast<float>(x)), b = ::metal::fabs(static_cast<float>(y));
#if FAULT == 1
    return static_cast<T>(precise::sqrt(a * a + b * b));
#elif FAULT == 2
    return static_cast<T>(c10::metal::hypot(a, b));
#else
    if (isinf(a) || isinf(b)) {
      return static_cast<T>(INFINITY);
    }
    return static_cast<T>(c10::metal::hypot(a, b));
#endif
  }
};

REGISTER_BINARY_OP(hypot, float, float);
REGISTER_BINARY_OP(hypot, half, half);
REGISTER_BINARY_OP(hypot, bfloat, bfloat);
