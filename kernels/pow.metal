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
  // exp(w * log(z)), where exp lets a modulus of 0 or infinity stand whatever
  // the angle is, as annex G of C99 has it. log(0) is -infinity, so that only
  // an infinite imaginary exponent counts beside the real one.
  static inline float2 of_complex(const float2 z, const float2 w) {
    if (z.x == 0 && z.y == 0) {
      const float turn = isinf(w.y) ? w.y * precise::atan2(z.y, z.x) : 0;
      const float r = precise::exp(-INFINITY * w.x - turn);
      return r == 0 ? float2(0, 0) : float2(r, NAN);
    }
    const float log_r =
        precise::log(c10::metal::hypot(::metal::fabs(z.x), ::metal::fabs(z.y)));
    const float theta = precise::atan2(z.y, z.x);
    const float r = precise::exp(w.x * log_r - w.y * theta);
    const float angle = w.x * theta + w.y * log_r;
    if (r == 0) {
      return float2(0, 0);
    }
    if (isinf(r) && !isfinite(angle)) {
      return float2(r, NAN);
    }
    return r * float2(precise::cos(angle), precise::sin(angle));
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
