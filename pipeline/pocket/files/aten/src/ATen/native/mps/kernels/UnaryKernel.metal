#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// Floating input keeps its type, integral input gives float; the arithmetic is
// always done in float.
#define DEFINE_UNARY_PRECISE_FUNCTOR(NAME)                                     \
  struct NAME##_functor {                                                      \
    template <typename T>                                                      \
    inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(           \
        const T x) {                                                           \
      return T(precise::NAME(float(x)));                                       \
    }                                                                          \
    template <typename T>                                                      \
    inline enable_if_t<is_scalar_integral_v<T>, float> operator()(const T x) { \
      return precise::NAME(float(x));                                          \
    }                                                                          \
    template <typename T>                                                      \
    inline enable_if_t<is_complex_v<T>, T> operator()(const T z) {             \
      return T(complex_##NAME(float2(z)));                                     \
    }                                                                          \
  }

inline float2 complex_exp(float2 z) {
  return precise::exp(z.x) * float2(precise::cos(z.y), precise::sin(z.y));
}

inline float2 complex_log(float2 z) {
  return float2(precise::log(length(z)), precise::atan2(z.y, z.x));
}

inline float2 complex_sin(float2 z) {
  return float2(
      precise::sin(z.x) * precise::cosh(z.y),
      precise::cos(z.x) * precise::sinh(z.y));
}

inline float2 complex_sinh(float2 z) {
  return float2(
      precise::sinh(z.x) * precise::cos(z.y),
      precise::cosh(z.x) * precise::sin(z.y));
}

// The principal root lies in the right half plane, on the side of the cut that
// z is on.
inline float2 complex_sqrt(float2 z) {
  const float r = length(z);
  const float re = precise::sqrt((r + z.x) * .5f);
  const float im = precise::sqrt((r - z.x) * .5f);
  return float2(re, copysign(im, z.y));
}

DEFINE_UNARY_PRECISE_FUNCTOR(exp);
DEFINE_UNARY_PRECISE_FUNCTOR(log);
DEFINE_UNARY_PRECISE_FUNCTOR(sin);
DEFINE_UNARY_PRECISE_FUNCTOR(sinh);
DEFINE_UNARY_PRECISE_FUNCTOR(sqrt);

struct neg_functor {
  template <typename T>
  inline T operator()(const T x) {
    return T(-x);
  }
};

struct pow_scalar_functor {
  template <typename T>
  inline T operator()(const T x, const T exponent) {
    return T(precise::pow(float(x), float(exponent)));
  }
};

struct round_decimals_functor {
  template <typename T>
  inline T operator()(const T x, const long decimals) {
    const float scale = precise::pow(10.f, float(abs(decimals)));
    return T(
        decimals < 0 ? rint(float(x) / scale) * scale
                     : rint(float(x) * scale) / scale);
  }
};

// One line per operator whose integral inputs give float.
#define INSTANTIATE_UNARY_KERNELS2(DTYPE0, DTYPE1) \
  REGISTER_UNARY_OP(exp, DTYPE1, DTYPE0);          \
  REGISTER_UNARY_OP(log, DTYPE1, DTYPE0);          \
  REGISTER_UNARY_OP(sin, DTYPE1, DTYPE0);          \
  REGISTER_UNARY_OP(sinh, DTYPE1, DTYPE0);         \
  REGISTER_UNARY_OP(sqrt, DTYPE1, DTYPE0)

INSTANTIATE_UNARY_KERNELS2(float, float);
INSTANTIATE_UNARY_KERNELS2(half, half);
INSTANTIATE_UNARY_KERNELS2(bfloat, bfloat);
INSTANTIATE_UNARY_KERNELS2(float, bool);
INSTANTIATE_UNARY_KERNELS2(float, uchar);
INSTANTIATE_UNARY_KERNELS2(float, char);
INSTANTIATE_UNARY_KERNELS2(float, short);
INSTANTIATE_UNARY_KERNELS2(float, int);
INSTANTIATE_UNARY_KERNELS2(float, long);
INSTANTIATE_UNARY_KERNELS2(float2, float2);
INSTANTIATE_UNARY_KERNELS2(half2, half2);

REGISTER_UNARY_OP(neg, float, float);
REGISTER_UNARY_OP(neg, half, half);
REGISTER_UNARY_OP(neg, bfloat, bfloat);
REGISTER_UNARY_OP(neg, uchar, uchar);
REGISTER_UNARY_OP(neg, char, char);
REGISTER_UNARY_OP(neg, short, short);
REGISTER_UNARY_OP(neg, int, int);
REGISTER_UNARY_OP(neg, long, long);
REGISTER_UNARY_OP(neg, float2, float2);
REGISTER_UNARY_OP(neg, half2, half2);

REGISTER_UNARY_ALPHA_OP(pow_scalar, float, float, float);
REGISTER_UNARY_ALPHA_OP(pow_scalar, half, half, half);
REGISTER_UNARY_ALPHA_OP(pow_scalar, bfloat, bfloat, bfloat);

REGISTER_UNARY_ALPHA_OP(round_decimals, float, long, float);
REGISTER_UNARY_ALPHA_OP(round_decimals, half, long, half);
REGISTER_UNARY_ALPHA_OP(round_decimals, bfloat, long, bfloat);
