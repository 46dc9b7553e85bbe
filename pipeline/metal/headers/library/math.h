// <metal_math>: the functions on float, in a precise and a fast version, then their half and vector overloads.
//
// Overloads exist for float and half only (MSL specification, 6.5): a bfloat argument becomes a float and so does the
// result, an integer argument is ambiguous. Precise functions are correct to an ulp or better, which is closer than
// Apple's documented bounds. What fast functions lose is modelled by their formulas in fast_math.h.
#pragma once
#include "../../runtime/abi.h"
#include "vec.h"

namespace metal_cpu {

// Subnormal arguments are zeros while the processor flushes them (Launch.denormals). The C library's functions look at
// the bits instead of computing with them, so they are told.
METAL_CPU_INLINE float flush(float x) { return __builtin_canonicalizef(x); }

// sin(pi x) and cos(pi x) are exact at multiples of one half.
METAL_CPU_INLINE float sine_of_turns(float x) {
  double r = double(x) - 2.0 * __builtin_rint(0.5 * double(x));
  r = r > 0.5 ? 1.0 - r : r < -0.5 ? -1.0 - r : r;
  return float(__builtin_sin(3.14159265358979323846 * r));
}
METAL_CPU_INLINE float cosine_of_turns(float x) {
  const double r = __builtin_fabs(double(x) - 2.0 * __builtin_rint(0.5 * double(x)));
  return r == 0.5 ? 0.0f : float(__builtin_cos(3.14159265358979323846 * r));
}

// As IEEE 754-2008 minNum and maxNum: a NaN loses against a number.
METAL_CPU_INLINE float smaller(float x, float y) { return x != x ? y : y < x ? y : x; }
METAL_CPU_INLINE float larger(float x, float y) { return x != x ? y : x < y ? y : x; }

}  // namespace metal_cpu

// The functions of one, two and three floats that have half and vector overloads. Each line is F(name).
#define METAL_CPU_UNARY_FUNCTIONS(F)                                                                             \
  F(acos) F(acosh) F(asin) F(asinh) F(atan) F(atanh) F(ceil) F(cos) F(cosh) F(cospi) F(exp) F(exp2) F(exp10)     \
  F(fabs) F(floor) F(fract) F(log) F(log2) F(log10) F(rint) F(round) F(rsqrt) F(saturate) F(sign) F(sin) F(sinh) \
  F(sinpi) F(sqrt) F(tan) F(tanh) F(tanpi) F(trunc)
#define METAL_CPU_BINARY_FUNCTIONS(F)                                                                         \
  F(atan2) F(copysign) F(divide) F(fdim) F(fmax) F(fmin) F(fmod) F(max) F(min) F(nextafter) F(pow) F(powr) \
  F(step)
#define METAL_CPU_TERNARY_FUNCTIONS(F)                                                              \
  F(clamp) F(fma) F(fmax3) F(fmedian3) F(fmin3) F(max3) F(median3) F(min3) F(mix) F(smoothstep)

namespace metal {
namespace precise {

METAL_CPU_INLINE float acos(float x) { return __builtin_acosf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float acosh(float x) { return __builtin_acoshf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float asin(float x) { return __builtin_asinf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float asinh(float x) { return __builtin_asinhf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float atan(float x) { return __builtin_atanf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float atanh(float x) { return __builtin_atanhf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float ceil(float x) { return __builtin_ceilf(x); }
METAL_CPU_INLINE float cos(float x) { return __builtin_cosf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float cosh(float x) { return __builtin_coshf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float cospi(float x) { return metal_cpu::cosine_of_turns(x); }
METAL_CPU_INLINE float exp(float x) { return __builtin_expf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float exp2(float x) { return __builtin_exp2f(metal_cpu::flush(x)); }
METAL_CPU_INLINE float exp10(float x) { return float(__builtin_pow(10.0, double(metal_cpu::flush(x)))); }
METAL_CPU_INLINE float fabs(float x) { return __builtin_fabsf(x); }
METAL_CPU_INLINE float floor(float x) { return __builtin_floorf(x); }
METAL_CPU_INLINE float fract(float x) {
  const float part = x - __builtin_floorf(x);
  return part < 0x1.fffffep-1f || part != part ? part : 0x1.fffffep-1f;
}
METAL_CPU_INLINE float log(float x) { return __builtin_logf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float log2(float x) { return __builtin_log2f(metal_cpu::flush(x)); }
METAL_CPU_INLINE float log10(float x) { return __builtin_log10f(metal_cpu::flush(x)); }
METAL_CPU_INLINE float rint(float x) { return __builtin_rintf(x); }
METAL_CPU_INLINE float round(float x) { return __builtin_roundf(x); }
METAL_CPU_INLINE float rsqrt(float x) { return float(1.0 / __builtin_sqrt(double(metal_cpu::flush(x)))); }
METAL_CPU_INLINE float saturate(float x) { return metal_cpu::smaller(metal_cpu::larger(x, 0.0f), 1.0f); }
METAL_CPU_INLINE float sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? x : 0.0f; }
METAL_CPU_INLINE float sin(float x) { return __builtin_sinf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float sinh(float x) { return __builtin_sinhf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float sinpi(float x) { return metal_cpu::sine_of_turns(x); }
METAL_CPU_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
METAL_CPU_INLINE float tan(float x) { return __builtin_tanf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float tanh(float x) { return __builtin_tanhf(metal_cpu::flush(x)); }
METAL_CPU_INLINE float tanpi(float x) { return metal_cpu::sine_of_turns(x) / metal_cpu::cosine_of_turns(x); }
METAL_CPU_INLINE float trunc(float x) { return __builtin_truncf(x); }

METAL_CPU_INLINE float atan2(float y, float x) { return __builtin_atan2f(metal_cpu::flush(y), metal_cpu::flush(x)); }
METAL_CPU_INLINE float copysign(float x, float y) { return __builtin_copysignf(x, y); }
METAL_CPU_INLINE float divide(float x, float y) { return x / y; }
METAL_CPU_INLINE float fdim(float x, float y) { return x != x || y != y ? x + y : x > y ? x - y : 0.0f; }
METAL_CPU_INLINE float fmax(float x, float y) { return metal_cpu::larger(x, y); }
METAL_CPU_INLINE float fmin(float x, float y) { return metal_cpu::smaller(x, y); }
METAL_CPU_INLINE float fmod(float x, float y) { return metal_cpu::mcpu_fmod(metal_cpu::flush(x), metal_cpu::flush(y)); }
METAL_CPU_INLINE float max(float x, float y) { return metal_cpu::larger(x, y); }
METAL_CPU_INLINE float min(float x, float y) { return metal_cpu::smaller(x, y); }
METAL_CPU_INLINE float nextafter(float x, float y) { return __builtin_nextafterf(x, y); }
METAL_CPU_INLINE float pow(float x, float y) { return __builtin_powf(metal_cpu::flush(x), metal_cpu::flush(y)); }
METAL_CPU_INLINE float powr(float x, float y) { return x < 0 ? __builtin_nanf("") : pow(x, y); }
METAL_CPU_INLINE float step(float edge, float x) { return x < edge ? 0.0f : 1.0f; }

METAL_CPU_INLINE float clamp(float x, float low, float high) {
  return metal_cpu::smaller(metal_cpu::larger(x, low), high);
}
METAL_CPU_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
METAL_CPU_INLINE float fmax3(float x, float y, float z) { return fmax(x, fmax(y, z)); }
METAL_CPU_INLINE float fmin3(float x, float y, float z) { return fmin(x, fmin(y, z)); }
METAL_CPU_INLINE float fmedian3(float x, float y, float z) { return fmax(fmin(x, y), fmin(fmax(x, y), z)); }
METAL_CPU_INLINE float max3(float x, float y, float z) { return fmax3(x, y, z); }
METAL_CPU_INLINE float min3(float x, float y, float z) { return fmin3(x, y, z); }
METAL_CPU_INLINE float median3(float x, float y, float z) { return fmedian3(x, y, z); }
METAL_CPU_INLINE float mix(float x, float y, float a) { return x + (y - x) * a; }
METAL_CPU_INLINE float smoothstep(float low, float high, float x) {
  const float t = clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3.0f - 2.0f * t);
}

METAL_CPU_INLINE float sincos(float x, float& cosine) {
  cosine = cos(x);
  return sin(x);
}

}  // namespace precise
}  // namespace metal

#include "fast_math.h"

namespace metal {

// Unqualified functions are the precise ones, unless the shader is compiled with fast math.
#ifdef METAL_CPU_FAST_MATH
#define METAL_CPU_DEFAULT fast
#else
#define METAL_CPU_DEFAULT precise
#endif
#define METAL_CPU_USE(NAME) using METAL_CPU_DEFAULT::NAME;
METAL_CPU_UNARY_FUNCTIONS(METAL_CPU_USE)
METAL_CPU_BINARY_FUNCTIONS(METAL_CPU_USE)
METAL_CPU_TERNARY_FUNCTIONS(METAL_CPU_USE)
METAL_CPU_USE(sincos)
#undef METAL_CPU_USE

// half: computed in float and rounded once.
#define METAL_CPU_HALF1(NAME) \
  METAL_CPU_INLINE half NAME(half x) { return half(precise::NAME(float(x))); }
#define METAL_CPU_HALF2(NAME) \
  METAL_CPU_INLINE half NAME(half x, half y) { return half(precise::NAME(float(x), float(y))); }
#define METAL_CPU_HALF3(NAME) \
  METAL_CPU_INLINE half NAME(half x, half y, half z) { return half(precise::NAME(float(x), float(y), float(z))); }
METAL_CPU_UNARY_FUNCTIONS(METAL_CPU_HALF1)
#define METAL_CPU_BINARY_HALF(F)                                                                             \
  F(atan2) F(copysign) F(divide) F(fdim) F(fmax) F(fmin) F(fmod) F(max) F(min) F(pow) F(powr) F(step)
METAL_CPU_BINARY_HALF(METAL_CPU_HALF2)
METAL_CPU_TERNARY_FUNCTIONS(METAL_CPU_HALF3)
#undef METAL_CPU_BINARY_HALF
#undef METAL_CPU_HALF1
#undef METAL_CPU_HALF2
#undef METAL_CPU_HALF3

// The next half in the direction of y, by its bits: half steps are not float steps.
METAL_CPU_INLINE half nextafter(half x, half y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  const short bits = __builtin_bit_cast(short, x);
  if (x == half(0)) return __builtin_bit_cast(half, short(y < x ? 0x8001 : 0x0001));
  return __builtin_bit_cast(half, short((x < y) == (bits >= 0) ? bits + 1 : bits - 1));
}
METAL_CPU_INLINE half sincos(half x, half& cosine) {
  cosine = cos(x);
  return sin(x);
}

METAL_CPU_INLINE float abs(float x) { return __builtin_fabsf(x); }
METAL_CPU_INLINE half abs(half x) { return fabs(x); }

// Vectors apply the scalar function to each component.
#define METAL_CPU_VECTORS(T)                                                             \
  METAL_CPU_UNARY_FUNCTIONS(METAL_CPU_VECTOR1_##T)                                       \
  METAL_CPU_BINARY_FUNCTIONS(METAL_CPU_VECTOR2_##T)                                      \
  METAL_CPU_TERNARY_FUNCTIONS(METAL_CPU_VECTOR3_##T)                                     \
  METAL_CPU_VECTOR1_##T(abs)
#define METAL_CPU_VECTOR1(T, NAME)                                                       \
  template <int N>                                                                       \
  METAL_CPU_INLINE vec<T, N> NAME(vec<T, N> x) {                                         \
    for (uint i = 0; i < N; ++i) x[i] = NAME(x[i]);                                      \
    return x;                                                                            \
  }
#define METAL_CPU_VECTOR2(T, NAME)                                                       \
  template <int N>                                                                       \
  METAL_CPU_INLINE vec<T, N> NAME(vec<T, N> x, vec<T, N> y) {                            \
    for (uint i = 0; i < N; ++i) x[i] = NAME(x[i], y[i]);                                \
    return x;                                                                            \
  }                                                                                      \
  template <int N>                                                                       \
  METAL_CPU_INLINE vec<T, N> NAME(vec<T, N> x, typename metal_cpu::identity<T>::type y) { \
    return NAME(x, vec<T, N>(y));                                                        \
  }                                                                                      \
  template <int N>                                                                       \
  METAL_CPU_INLINE vec<T, N> NAME(typename metal_cpu::identity<T>::type x, vec<T, N> y) { \
    return NAME(vec<T, N>(x), y);                                                        \
  }
#define METAL_CPU_VECTOR3(T, NAME)                                                       \
  template <int N>                                                                       \
  METAL_CPU_INLINE vec<T, N> NAME(vec<T, N> x, vec<T, N> y, vec<T, N> z) {               \
    for (uint i = 0; i < N; ++i) x[i] = NAME(x[i], y[i], z[i]);                          \
    return x;                                                                            \
  }                                                                                      \
  template <int N>                                                                       \
  METAL_CPU_INLINE vec<T, N> NAME(vec<T, N> x, vec<T, N> y, typename metal_cpu::identity<T>::type z) { \
    return NAME(x, y, vec<T, N>(z));                                                     \
  }                                                                                      \
  template <int N>                                                                       \
  METAL_CPU_INLINE vec<T, N> NAME(vec<T, N> x, typename metal_cpu::identity<T>::type y,  \
                                  typename metal_cpu::identity<T>::type z) {             \
    return NAME(x, vec<T, N>(y), vec<T, N>(z));                                          \
  }
#define METAL_CPU_VECTOR1_float(NAME) METAL_CPU_VECTOR1(float, NAME)
#define METAL_CPU_VECTOR2_float(NAME) METAL_CPU_VECTOR2(float, NAME)
#define METAL_CPU_VECTOR3_float(NAME) METAL_CPU_VECTOR3(float, NAME)
#define METAL_CPU_VECTOR1_half(NAME) METAL_CPU_VECTOR1(half, NAME)
#define METAL_CPU_VECTOR2_half(NAME) METAL_CPU_VECTOR2(half, NAME)
#define METAL_CPU_VECTOR3_half(NAME) METAL_CPU_VECTOR3(half, NAME)
METAL_CPU_VECTORS(float)
METAL_CPU_VECTORS(half)
namespace precise {
METAL_CPU_UNARY_FUNCTIONS(METAL_CPU_VECTOR1_float)
METAL_CPU_BINARY_FUNCTIONS(METAL_CPU_VECTOR2_float)
METAL_CPU_TERNARY_FUNCTIONS(METAL_CPU_VECTOR3_float)
using metal::abs;
}  // namespace precise
namespace fast {
METAL_CPU_UNARY_FUNCTIONS(METAL_CPU_VECTOR1_float)
METAL_CPU_BINARY_FUNCTIONS(METAL_CPU_VECTOR2_float)
METAL_CPU_TERNARY_FUNCTIONS(METAL_CPU_VECTOR3_float)
using metal::abs;
}  // namespace fast

// Functions that also take or return an integer.
METAL_CPU_INLINE float ldexp(float x, int k) { return __builtin_ldexpf(metal_cpu::flush(x), k); }
METAL_CPU_INLINE half ldexp(half x, int k) { return half(__builtin_ldexpf(float(x), k)); }
METAL_CPU_INLINE float frexp(float x, int& exponent) { return __builtin_frexpf(metal_cpu::flush(x), &exponent); }
METAL_CPU_INLINE half frexp(half x, int& exponent) { return half(__builtin_frexpf(float(x), &exponent)); }
METAL_CPU_INLINE int ilogb(float x) { return __builtin_ilogbf(metal_cpu::flush(x)); }
METAL_CPU_INLINE int ilogb(half x) { return __builtin_ilogbf(float(x)); }
METAL_CPU_INLINE float modf(float x, float& whole) {
  whole = __builtin_truncf(x);
  return __builtin_copysignf(__builtin_isinf(x) ? 0.0f : x - whole, x);
}
METAL_CPU_INLINE half modf(half x, half& whole) {
  float part;
  const float rest = modf(float(x), part);
  whole = half(part);
  return half(rest);
}
namespace precise {
using metal::frexp;
using metal::ilogb;
using metal::ldexp;
using metal::modf;
}  // namespace precise
namespace fast {
using metal::frexp;
using metal::ilogb;
using metal::ldexp;
using metal::modf;
}  // namespace fast

}  // namespace metal

#undef METAL_CPU_DEFAULT
#undef METAL_CPU_VECTORS
#undef METAL_CPU_VECTOR1
#undef METAL_CPU_VECTOR2
#undef METAL_CPU_VECTOR3
#undef METAL_CPU_VECTOR1_float
#undef METAL_CPU_VECTOR2_float
#undef METAL_CPU_VECTOR3_float
#undef METAL_CPU_VECTOR1_half
#undef METAL_CPU_VECTOR2_half
#undef METAL_CPU_VECTOR3_half
#undef METAL_CPU_UNARY_FUNCTIONS
#undef METAL_CPU_BINARY_FUNCTIONS
#undef METAL_CPU_TERNARY_FUNCTIONS
