#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct atanh_functor {
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(const T x) {
    return static_cast<T>(precise::atanh(static_cast<float>(x)));
  }
  template <typename T>
  inline enable_if_t<is_scalar_integral_v<T>, float> operator()(const T x) {
    return precise::atanh(static_cast<float>(x));
  }
  template <typename T>
  inline enable_if_t<is_complex_v<T>, T> operator()(const T x) {
    return static_cast<T>(of_complex(static_cast<float2>(x)));
  }

 private:
  // atanh(z) = log1p(4x / ((1 - x)^2 + y^2)) / 4 for x >= 0, an odd function.
  // Infinities and NaN as in annex G of C99.
  static inline float2 of_complex(const float2 z) {
    const float2 a = fabs(z);
    if (isinf(a.x) || isinf(a.y)) {
      return float2(copysign(0.0f, z.x), isnan(z.y) ? NAN : right_angle(z.y));
    }
    if (z.y == 0 && a.x <= 1) {
      return float2(precise::atanh(z.x), z.y);
    }
    const float size = fmax(a.x, a.y);
    if (size > 1e18f) {
      // Squares would overflow: 1 / z is all that is left of the logarithm.
      const float2 unit = z / size;
      return float2(unit.x / dot(unit, unit) / size, right_angle(z.y));
    }
    const float gap = 1 - a.x;
    const float real = gap == 0 && a.y < 1e-9f
        ? 0.5f * (M_LN2_F - precise::log(a.y))
        : 0.25f * c10::metal::log1p(4 * a.x / (gap * gap + a.y * a.y));
    const float angle = precise::atan2(2 * z.y, gap * (1 + a.x) - a.y * a.y);
    return float2(copysign(real, z.x), 0.5f * angle);
  }

  static inline float right_angle(const float sign) {
    return copysign(M_PI_2_F, sign);
  }
};

REGISTER_UNARY_OP(atanh, float, float);
REGISTER_UNARY_OP(atanh, half, half);
REGISTER_UNARY_OP(atanh, bfloat, bfloat);
REGISTER_UNARY_OP(atanh, long, float);
REGISTER_UNARY_OP(atanh, int, float);
REGISTER_UNARY_OP(atanh, short, float);
REGISTER_UNARY_OP(atanh, char, float);
REGISTER_UNARY_OP(atanh, uchar, float);
REGISTER_UNARY_OP(atanh, bool, float);
REGISTER_UNARY_OP(atanh, float2, float2);
REGISTER_UNARY_OP(atanh, half2, half2);
