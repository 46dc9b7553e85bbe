// FAULT 1: floor(a / b) as it stands. FAULT 2: integers truncate. FAULT 3: no care for the sign of zero.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct div_floor_functor {
  template <typename T>
  inline enable_if_t<is_floating_point_v<T>, T> operator()(const T x, const T y) {
    const float a = static_cast<float>(x), b = static_cast<float>(y);
#if FAULT == 1
    return static_cast<T>(::metal::floor(a / b));
#else
    if (b == 0) {
      return static_cast<T>(a / b);
    }
    const float rest = ::metal::fmod(a, b);
    float quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) {
      quotient -= 1;
    }
    if (quotient == 0) {
#if FAULT == 3
      return static_cast<T>(0.0f);
#else
      return static_cast<T>(::metal::copysign(0.0f, a / b));
#endif
    }
    float whole = ::metal::floor(quotient);
    if (quotient - whole > 0.5f) {
      whole += 1;
    }
    return static_cast<T>(whole);
#endif
  }
  template <typename T>
  inline enable_if_t<!is_floating_point_v<T>, T> operator()(const T a, const T b) {
    if (b == T(0)) {
      return T(0);
    }
    const T quotient = a / b;
#if FAULT == 2
    return quotient;
#else
    return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - T(1) : quotient;
#endif
  }
};

REGISTER_BINARY_OP(div_floor, float, float);
REGISTER_BINARY_OP(div_floor, half, half);
REGISTER_BINARY_OP(div_floor, bfloat, bfloat);
REGISTER_BINARY_OP(div_floor, long, long);
REGISTER_BINARY_OP(div_floor, int, int);
REGISTER_BINARY_OP(div_floor, short, short);
REGISTER_BINARY_OP(div_floor, char, char);
REGISTER_BINARY_OP(div_floor, uchar, uchar);
