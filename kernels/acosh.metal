#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct acosh_functor {
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(const T x) {
    return static_cast<T>(precise::acosh(static_cast<float>(x)));
  }
  template <typename T>
  inline enable_if_t<is_scalar_integral_v<T>, float> operator()(const T x) {
    return precise::acosh(static_cast<float>(x));
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
      const float2 unit(
          isinf(a.x) ? copysign(1.0f, z.x) : 0, isinf(a.y) ? 1 : 0);
      const float angle = isnan(z.x) || isnan(z.y)
          ? NAN
          : copysign(precise::atan2(unit.y, unit.x), z.y);
      return float2(INFINITY, angle);
    }
    if (a.x > 1e6f || a.y > 1e6f) {
      const float log_2z =
          precise::log(c10::metal::hypot(a.x / 2, a.y / 2)) + 2 * M_LN2_F;
      return float2(log_2z, precise::atan2(z.y, z.x));
    }
    const auto p = root(float2(z.x - 1, z.y));
    const auto q = root(float2(z.x + 1, z.y));
    return float2(
        precise::asinh(p.x * q.x + p.y * q.y), 2 * precise::atan2(p.y, q.x));
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

REGISTER_UNARY_OP(acosh, float, float);
REGISTER_UNARY_OP(acosh, half, half);
REGISTER_UNARY_OP(acosh, bfloat, bfloat);
REGISTER_UNARY_OP(acosh, long, float);
REGISTER_UNARY_OP(acosh, int, float);
REGISTER_UNARY_OP(acosh, short, float);
REGISTER_UNARY_OP(acosh, char, float);
REGISTER_UNARY_OP(acosh, uchar, float);
REGISTER_UNARY_OP(acosh, bool, float);
REGISTER_UNARY_OP(acosh, float2, float2);
REGISTER_UNARY_OP(acosh, half2, half2);
