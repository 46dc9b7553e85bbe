// <metal_limits>: numeric_limits of the scalar types, and of nothing else.
#pragma once
#include "traits.h"

namespace metal {

template <class T>
struct numeric_limits;

#define METAL_CPU_INTEGER_LIMITS(T, LOWEST, HIGHEST, DIGITS)            \
  template <>                                                           \
  struct numeric_limits<T> {                                            \
    static constexpr bool is_specialized = true;                        \
    static constexpr bool is_integer = true;                            \
    static constexpr bool is_exact = true;                              \
    static constexpr bool is_signed = T(-1) < T(0);                     \
    static constexpr bool has_infinity = false;                         \
    static constexpr bool has_quiet_NaN = false;                        \
    static constexpr int digits = DIGITS;                               \
    static constexpr int radix = 2;                                     \
    static METAL_CPU_INLINE constexpr T min() { return LOWEST; }        \
    static METAL_CPU_INLINE constexpr T max() { return HIGHEST; }       \
    static METAL_CPU_INLINE constexpr T lowest() { return LOWEST; }     \
    static METAL_CPU_INLINE constexpr T infinity() { return T(0); }     \
    static METAL_CPU_INLINE constexpr T quiet_NaN() { return T(0); }    \
    static METAL_CPU_INLINE constexpr T epsilon() { return T(0); }      \
    static METAL_CPU_INLINE constexpr T denorm_min() { return T(0); }   \
    static METAL_CPU_INLINE constexpr T round_error() { return T(0); }  \
  };
METAL_CPU_INTEGER_LIMITS(bool, false, true, 1)
METAL_CPU_INTEGER_LIMITS(char, -128, 127, 7)
METAL_CPU_INTEGER_LIMITS(int8_t, -128, 127, 7)
METAL_CPU_INTEGER_LIMITS(uchar, 0, 255, 8)
METAL_CPU_INTEGER_LIMITS(short, -32768, 32767, 15)
METAL_CPU_INTEGER_LIMITS(ushort, 0, 65535, 16)
METAL_CPU_INTEGER_LIMITS(int, -2147483647 - 1, 2147483647, 31)
METAL_CPU_INTEGER_LIMITS(uint, 0, 4294967295u, 32)
METAL_CPU_INTEGER_LIMITS(long, -9223372036854775807l - 1, 9223372036854775807l, 63)
METAL_CPU_INTEGER_LIMITS(ulong, 0, 18446744073709551615ul, 64)
#undef METAL_CPU_INTEGER_LIMITS

// MIN is the smallest normal number; the subnormals below it exist, whether or not arithmetic flushes them.
#define METAL_CPU_FLOAT_LIMITS(T, MIN, MAX, EPSILON, SUBNORMAL, DIGITS, MAX_EXPONENT)            \
  template <>                                                                                    \
  struct numeric_limits<T> {                                                                     \
    static constexpr bool is_specialized = true;                                                 \
    static constexpr bool is_integer = false;                                                    \
    static constexpr bool is_exact = false;                                                      \
    static constexpr bool is_signed = true;                                                      \
    static constexpr bool has_infinity = true;                                                   \
    static constexpr bool has_quiet_NaN = true;                                                  \
    static constexpr int digits = DIGITS;                                                        \
    static constexpr int radix = 2;                                                              \
    static constexpr int max_exponent = MAX_EXPONENT;                                            \
    static constexpr int min_exponent = 3 - MAX_EXPONENT;                                        \
    static METAL_CPU_INLINE constexpr T min() { return T(MIN); }                                 \
    static METAL_CPU_INLINE constexpr T max() { return T(MAX); }                                 \
    static METAL_CPU_INLINE constexpr T lowest() { return T(-MAX); }                             \
    static METAL_CPU_INLINE constexpr T infinity() { return T(__builtin_inff()); }               \
    static METAL_CPU_INLINE constexpr T quiet_NaN() { return T(__builtin_nanf("")); }            \
    static METAL_CPU_INLINE constexpr T epsilon() { return T(EPSILON); }                         \
    static METAL_CPU_INLINE constexpr T denorm_min() { return T(SUBNORMAL); }                    \
    static METAL_CPU_INLINE constexpr T round_error() { return T(0.5f); }                        \
  };
METAL_CPU_FLOAT_LIMITS(float, 0x1p-126f, 0x1.fffffep+127f, 0x1p-23f, 0x1p-149f, 24, 128)
METAL_CPU_FLOAT_LIMITS(half, 0x1p-14f, 0x1.ffcp+15f, 0x1p-10f, 0x1p-24f, 11, 16)
METAL_CPU_FLOAT_LIMITS(bfloat, 0x1p-126f, 0x1.fep+127f, 0x1p-7f, 0x1p-133f, 8, 128)
#undef METAL_CPU_FLOAT_LIMITS

}  // namespace metal
