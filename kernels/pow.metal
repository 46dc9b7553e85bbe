#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// Registered without opmath for integers: an operand that is cast wraps first,
// as on CPU, and only then counts as a negative exponent or not.
struct pow_tensor_tensor_functor {
  template <typename T, enable_if_t<!is_complex_v<T>, bool> = true>
  inline T operator()(const T base, const T exponent) {
    return static_cast<T>(c10::metal::pow(base, exponent));
  }
  template <typename T, enable_if_t<is_complex_v<T>, bool> = true>
  inline T operator()(const T base, const T exponent) {
    return static_cast<T>(
        of_complex(static_cast<float2>(base), static_cast<float2>(exponent)));
  }

 private:
  // exp(w * log(z)), with the infinities of annex G of C99.
  static inline float2 of_complex(const float2 z, const float2 w) {
    const float2 a = ::metal::fabs(z);
    const float r_z = any(isinf(a)) ? INFINITY : c10::metal::hypot(a.x, a.y);
    const float2 log_z(precise::log(r_z), precise::atan2(z.y, z.x));
    const float2 e = product(w, log_z);
    if (e.x == -INFINITY) {
      return float2(0, 0);
    }
    const float r = precise::exp(e.x);
    if (e.x == INFINITY && !isfinite(e.y)) {
      return float2(r, NAN);
    }
    return r * float2(precise::cos(e.y), precise::sin(e.y));
  }

  // The product of an infinite factor is infinite, though NaN may stand beside
  // it.
  static inline float2 product(float2 a, float2 b) {
    const float2 plain = c10::metal::mul(a, b);
    const bool2 infinite(any(isinf(a)), any(isinf(b)));
    if (!all(isnan(plain)) || !any(infinite)) {
      return plain;
    }
    a = select(
        select(a, copysign(float2(0), a), isnan(a)),
        direction(a),
        bool2(infinite.x));
    b = select(
        select(b, copysign(float2(0), b), isnan(b)),
        direction(b),
        bool2(infinite.y));
    return INFINITY * c10::metal::mul(a, b);
  }

  static inline float2 direction(const float2 a) {
    return copysign(select(float2(0), float2(1), isinf(a)), a);
  }
};

REGISTER_OPMATH_BINARY_OP(pow_tensor_tensor, float, float);
REGISTER_OPMATH_BINARY_OP(pow_tensor_tensor, half, half);
REGISTER_OPMATH_BINARY_OP(pow_tensor_tensor, bfloat, bfloat);
REGISTER_BINARY_OP(pow_tensor_tensor, long, long);
REGISTER_BINARY_OP(pow_tensor_tensor, int, int);
REGISTER_BINARY_OP(pow_tensor_tensor, short, short);
REGISTER_BINARY_OP(pow_tensor_tensor, char, char);
REGISTER_BINARY_OP(pow_tensor_tensor, uchar, uchar);
REGISTER_OPMATH_BINARY_OP(pow_tensor_tensor, float2, float2);
REGISTER_OPMATH_BINARY_OP(pow_tensor_tensor, half2, half2);
