// Right as it stands; the faults are in copies of the header.
#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct sqrt_functor {
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(const T x) {
    return static_cast<T>(precise::sqrt(static_cast<float>(x)));
  }
  template <typename T>
  inline enable_if_t<is_scalar_integral_v<T>, float> operator()(const T x) {
    return precise::sqrt(static_cast<float>(x));
  }
  template <typename T>
  inline enable_if_t<is_complex_v<T>, T> operator()(const T x) {
    const float2 z = static_cast<float2>(x);
    const float a = ::metal::fabs(z.x), b = ::metal::fabs(z.y);
    const float big = a > b ? a : b;
    if (isinf(a) || isinf(b) || isnan(a) || isnan(b)) {
      return static_cast<T>(at_the_edge(z));
    }
    if (big == 0) {
      return static_cast<T>(float2(0, z.y));
    }
    // Scaled so that the square neither overflows nor underflows.
    const float x1 = a / big, y1 = b / big;
    const float root = precise::sqrt(big) * precise::sqrt(0.5f * (x1 + precise::sqrt(x1 * x1 + y1 * y1)));
    const float other = 0.5f * (b / root);
    return static_cast<T>(z.x >= 0 ? float2(root, copysign(other, z.y)) : float2(other, copysign(root, z.y)));
  }

 private:
  // Annex G of C99.
  static inline float2 at_the_edge(const float2 z) {
    if (isinf(z.y)) {
      return float2(INFINITY, z.y);
    }
    if (isinf(z.x) && z.x > 0) {
      return float2(INFINITY, isnan(z.y) ? z.y : copysign(0.0f, z.y));
    }
    if (isinf(z.x)) {
      return float2(isnan(z.y) ? z.y : 0.0f, copysign(INFINITY, z.y));
    }
    return float2(NAN, NAN);
  }
};

REGISTER_UNARY_OP(sqrt, float, float);
REGISTER_UNARY_OP(sqrt, half, half);
REGISTER_UNARY_OP(sqrt, bfloat, bfloat);
REGISTER_UNARY_OP(sqrt, long, float);
REGISTER_UNARY_OP(sqrt, int, float);
REGISTER_UNARY_OP(sqrt, short, float);
REGISTER_UNARY_OP(sqrt, char, float);
REGISTER_UNARY_OP(sqrt, uchar, float);
REGISTER_UNARY_OP(sqrt, bool, float);
REGISTER_UNARY_OP(sqrt, float2, float2);
REGISTER_UNARY_OP(sqrt, half2, half2);
