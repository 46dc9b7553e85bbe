// <metal_integer>. Arithmetic wraps, shifts take their count modulo the width (MSL specification, 6.4).
#pragma once
#include "vec.h"

#define METAL_CPU_SIGNED(F) F(char) F(short) F(int) F(long)
#define METAL_CPU_UNSIGNED(F) F(uchar) F(ushort) F(uint) F(ulong)

namespace metal {

#define METAL_CPU_INTEGER(T)                                                                              \
  METAL_CPU_INLINE constexpr T max(T a, T b) { return a < b ? b : a; }                                    \
  METAL_CPU_INLINE constexpr T min(T a, T b) { return b < a ? b : a; }                                    \
  METAL_CPU_INLINE constexpr T max3(T a, T b, T c) { return max(a, max(b, c)); }                          \
  METAL_CPU_INLINE constexpr T min3(T a, T b, T c) { return min(a, min(b, c)); }                          \
  METAL_CPU_INLINE constexpr T median3(T a, T b, T c) { return max(min(a, b), min(max(a, b), c)); }       \
  METAL_CPU_INLINE constexpr T clamp(T a, T low, T high) { return min(max(a, low), high); }               \
  METAL_CPU_INLINE constexpr make_unsigned_t<T> absdiff(T a, T b) {                                       \
    using U = make_unsigned_t<T>;                                                                         \
    return U(a < b ? U(b) - U(a) : U(a) - U(b));                                                          \
  }                                                                                                       \
  METAL_CPU_INLINE constexpr T popcount(T a) { return T(__builtin_popcountl(make_unsigned_t<T>(a))); }    \
  METAL_CPU_INLINE constexpr T clz(T a) {                                                                 \
    constexpr int width = int(sizeof(T)) * 8;                                                             \
    return T(a == 0 ? width : __builtin_clzl(make_unsigned_t<T>(a)) - (64 - width));                      \
  }                                                                                                       \
  METAL_CPU_INLINE constexpr T ctz(T a) {                                                                 \
    return T(a == 0 ? int(sizeof(T)) * 8 : __builtin_ctzl(make_unsigned_t<T>(a)));                        \
  }                                                                                                       \
  METAL_CPU_INLINE constexpr T rotate(T a, T count) {                                                     \
    using U = make_unsigned_t<T>;                                                                         \
    constexpr uint width = sizeof(T) * 8;                                                                 \
    const uint n = uint(U(count)) % width;                                                                \
    return n == 0 ? a : T(U(U(a) << n) | U(U(a) >> (width - n)));                                         \
  }                                                                                                       \
  METAL_CPU_INLINE constexpr T reverse_bits(T a) {                                                        \
    using U = make_unsigned_t<T>;                                                                         \
    U out = 0;                                                                                            \
    for (uint i = 0; i < sizeof(T) * 8; ++i) out = U(U(out << 1) | (U(U(a) >> i) & 1));                   \
    return T(out);                                                                                        \
  }                                                                                                       \
  METAL_CPU_INLINE constexpr T extract_bits(T value, uint offset, uint bits) {                            \
    constexpr uint width = sizeof(T) * 8;                                                                 \
    if (bits == 0) return T(0);                                                                           \
    return T(T(make_unsigned_t<T>(value) << (width - offset - bits)) >> (width - bits));                  \
  }                                                                                                       \
  METAL_CPU_INLINE constexpr T insert_bits(T base, T insert, uint offset, uint bits) {                    \
    using U = make_unsigned_t<T>;                                                                         \
    const U mask = bits >= sizeof(T) * 8 ? U(~U(0)) : U(U((U(1) << bits) - 1) << offset);                 \
    return T((U(base) & U(~mask)) | (U(U(insert) << offset) & mask));                                     \
  }                                                                                                       \
  METAL_CPU_INLINE constexpr T hadd(T a, T b) { return T((a & b) + ((a ^ b) >> 1)); }                     \
  METAL_CPU_INLINE constexpr T rhadd(T a, T b) { return T((a | b) - ((a ^ b) >> 1)); }                    \
  METAL_CPU_INLINE constexpr T addsat(T a, T b) {                                                         \
    T sum{};                                                                                              \
    if (!__builtin_add_overflow(a, b, &sum)) return sum;                                                  \
    return b < 0 ? numeric_limits<T>::lowest() : numeric_limits<T>::max();                                \
  }                                                                                                       \
  METAL_CPU_INLINE constexpr T subsat(T a, T b) {                                                         \
    T difference{};                                                                                       \
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;                                    \
    return numeric_limits<T>::is_signed && b < 0 ? numeric_limits<T>::max() : numeric_limits<T>::lowest(); \
  }                                                                                                       \
  METAL_CPU_INLINE constexpr T mulhi(T a, T b) { return T((__int128(a) * __int128(b)) >> (sizeof(T) * 8)); } \
  METAL_CPU_INLINE constexpr T madhi(T a, T b, T c) { return T(mulhi(a, b) + c); }                        \
  METAL_CPU_INTEGER_VECTOR2(T, max)                                                                       \
  METAL_CPU_INTEGER_VECTOR2(T, min)                                                                       \
  METAL_CPU_INTEGER_VECTOR2(T, mulhi)                                                                     \
  METAL_CPU_INTEGER_VECTOR2(T, rotate)                                                                    \
  METAL_CPU_INTEGER_VECTOR1(T, popcount)                                                                  \
  METAL_CPU_INTEGER_VECTOR1(T, clz)                                                                       \
  METAL_CPU_INTEGER_VECTOR1(T, ctz)                                                                       \
  template <int N>                                                                                        \
  METAL_CPU_INLINE vec<T, N> clamp(vec<T, N> a, vec<T, N> low, vec<T, N> high) {                          \
    return min(max(a, low), high);                                                                        \
  }

#define METAL_CPU_INTEGER_VECTOR1(T, NAME)            \
  template <int N>                                    \
  METAL_CPU_INLINE vec<T, N> NAME(vec<T, N> a) {      \
    for (uint i = 0; i < N; ++i) a[i] = NAME(a[i]);   \
    return a;                                         \
  }
#define METAL_CPU_INTEGER_VECTOR2(T, NAME)                                                   \
  template <int N>                                                                           \
  METAL_CPU_INLINE vec<T, N> NAME(vec<T, N> a, vec<T, N> b) {                                \
    for (uint i = 0; i < N; ++i) a[i] = NAME(a[i], b[i]);                                    \
    return a;                                                                                \
  }                                                                                          \
  template <int N>                                                                           \
  METAL_CPU_INLINE vec<T, N> NAME(vec<T, N> a, typename metal_cpu::identity<T>::type b) {    \
    return NAME(a, vec<T, N>(b));                                                            \
  }                                                                                          \
  template <int N>                                                                           \
  METAL_CPU_INLINE vec<T, N> NAME(typename metal_cpu::identity<T>::type a, vec<T, N> b) {    \
    return NAME(vec<T, N>(a), b);                                                            \
  }
METAL_CPU_SIGNED(METAL_CPU_INTEGER)
METAL_CPU_UNSIGNED(METAL_CPU_INTEGER)

#define METAL_CPU_SIGNED_ABS(T)                                                \
  METAL_CPU_INLINE constexpr T abs(T a) { return a < 0 ? T(-a) : a; }          \
  METAL_CPU_INTEGER_VECTOR1(T, abs)
#define METAL_CPU_UNSIGNED_ABS(T)                                              \
  METAL_CPU_INLINE constexpr T abs(T a) { return a; }                          \
  METAL_CPU_INTEGER_VECTOR1(T, abs)
METAL_CPU_SIGNED(METAL_CPU_SIGNED_ABS)
METAL_CPU_UNSIGNED(METAL_CPU_UNSIGNED_ABS)

METAL_CPU_INLINE constexpr int mul24(int a, int b) { return a * b; }
METAL_CPU_INLINE constexpr uint mul24(uint a, uint b) { return a * b; }
METAL_CPU_INLINE constexpr int mad24(int a, int b, int c) { return a * b + c; }
METAL_CPU_INLINE constexpr uint mad24(uint a, uint b, uint c) { return a * b + c; }

#undef METAL_CPU_INTEGER
#undef METAL_CPU_INTEGER_VECTOR1
#undef METAL_CPU_INTEGER_VECTOR2
#undef METAL_CPU_SIGNED_ABS
#undef METAL_CPU_UNSIGNED_ABS

}  // namespace metal
