// FAULT 1: integers go through float. FAULT 2: complex without scaling.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct abs_functor {
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(const T x) {
    return static_cast<T>(::metal::fabs(static_cast<float>(x)));
  }
  template <typename T>
  inline enable_if_t<is_scalar_integral_v<T>, T> operator()(const T x) {
#if FAULT == 1
    return static_cast<T>(::metal::fabs(static_cast<float>(x)));
#else
    return x < 0 ? T(0) - x : x;
#endif
  }
  inline float operator()(const float2 z) {
    return length_of(z);
  }
  inline half operator()(const half2 z) {
    return static_cast<half>(length_of(static_cast<float2>(z)));
  }

 private:
  static inline float length_of(const float2 z) {
#if FAULT == 2
    return precise::sqrt(z.x * z.x + z.y * z.y);
#else
    const float a = ::metal::fabs(z.x), b = ::metal::fabs(z.y);
    if (isinf(a) || isinf(b)) {
      return INFINITY;
    }
    const float big = a > b ? a : b, small = a > b ? b : a;
    if (isnan(a) || isnan(b)) {
      return NAN;
    }
    if (big == 0) {
      return 0;
    }
    const float ratio = small / big;
    return big * precise::sqrt(1.0f + ratio * ratio);
#endif
  }
};

REGISTER_UNARY_OP(abs, float, float);
REGISTER_UNARY_OP(abs, half, half);
REGISTER_UNARY_OP(abs, bfloat, bfloat);
REGISTER_UNARY_OP(abs, long, long);
REGISTER_UNARY_OP(abs, int, int);
REGISTER_UNARY_OP(abs, short, short);
REGISTER_UNARY_OP(abs, char, char);
REGISTER_UNARY_OP(abs, uchar, uchar);
REGISTER_UNARY_OP(abs, bool, bool);
REGISTER_UNARY_OP(abs, float2, float);
REGISTER_UNARY_OP(abs, half2, half);
