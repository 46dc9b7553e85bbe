#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct asinh_functor {
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(const T x) {
    return static_cast<T>(precise::asinh(static_cast<float>(x)));
  }
  template <typename T>
  inline enable_if_t<is_scalar_integral_v<T>, float> operator()(const T x) {
    return precise::asinh(static_cast<float>(x));
  }
  template <typename T>
  inline enable_if_t<is_complex_v<T>, T> operator()(const T x) {
    return static_cast<T>(of_complex(static_cast<float2>(x)));
  }

 private:
  // W. Kahan, Branch Cuts for Complex Elementary Functions (1987): no
  // cancellation near the branch points. Infinities and NaN as in annex G of
  // C99.
  static inline float2 of_complex(const float2 z) {
    const float2 a = fabs(z);
    if (isinf(a.x) || isinf(a.y)) {
      const float2 unit(isinf(a.x) ? 1 : 0, isinf(a.y) ? 1 : 0);
      const float angle = isnan(z.x) || isnan(z.y)
          ? NAN
          : copysign(precise::atan2(unit.y, unit.x), z.y);
      return float2(copysign(INFINITY, z.x), angle);
    }
    if (z.y == 0) {
      return float2(precise::asinh(z.x), z.y);
    }
    if (a.x > 1e6f || a.y > 1e6f) {
      const float log_2z =
          precise::log(c10::metal::hypot(a.x / 2, a.y / 2)) + 2 * M_LN2_F;
      return float2(copysign(log_2z, z.x), precise::atan2(z.y, a.x));
    }
    const auto p = root(float2(1 + z.y, -z.x));
    const auto q = root(float2(1 - z.y, z.x));
    return float2(
        precise::asinh(p.x * q.y - p.y * q.x),
        precise::atan2(z.y, p.x * q.x - p.y * q.y));
  }

  // The square root with a non-negative real part, without cancellation; the
  // sign of a zero imaginary part says on which side of the cut z lies.
  static inline float2 root(const float2 z) {
    const float2 a = fabs(z);
    const float t =
        M_SQRT1_2_F * precise::sqrt(c10::metal::hypot(a.x, a.y) + a.x);
    if (t == 0) {
      return float2(0, z.y);
    }
    const float s = a.y / (2 * t);
    return z.x >= 0 ? float2(t, copysign(s, z.y)) : float2(s, copysign(t, z.y));
  }
};

REGISTER_UNARY_OP(asinh, float, float);
REGISTER_UNARY_OP(asinh, half, half);
REGISTER_UNARY_OP(asinh, bfloat, bfloat);
REGISTER_UNARY_OP(asinh, long, float);
REGISTER_UNARY_OP(asinh, int, float);
REGISTER_UNARY_OP(asinh, short, float);
REGISTER_UNARY_OP(asinh, char, float);
REGISTER_UNARY_OP(asinh, uchar, float);
REGISTER_UNARY_OP(asinh, bool, float);
REGISTER_UNARY_OP(asinh, float2, float2);
REGISTER_UNARY_OP(asinh, half2, half2);
