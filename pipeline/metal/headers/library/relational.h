// <metal_relational>.
#pragma once
#include "vec.h"

namespace metal {

#define METAL_CPU_CLASSIFY(T)                                                                              \
  METAL_CPU_INLINE bool isnan(T x) { return __builtin_isnan(float(x)); }                                   \
  METAL_CPU_INLINE bool isinf(T x) { return __builtin_isinf(float(x)); }                                   \
  METAL_CPU_INLINE bool isfinite(T x) { return __builtin_isfinite(float(x)); }                             \
  METAL_CPU_INLINE bool isnormal(T x) {                                                                    \
    const float magnitude = __builtin_fabsf(float(x));                                                     \
    return magnitude >= float(numeric_limits<T>::min()) && magnitude <= float(numeric_limits<T>::max());   \
  }                                                                                                        \
  METAL_CPU_INLINE bool signbit(T x) { return __builtin_signbit(float(x)); }                               \
  METAL_CPU_INLINE bool isordered(T x, T y) { return x == x && y == y; }                                   \
  METAL_CPU_INLINE bool isunordered(T x, T y) { return x != x || y != y; }                                 \
  METAL_CPU_CLASSIFY_VECTOR(T, isnan)                                                                      \
  METAL_CPU_CLASSIFY_VECTOR(T, isinf)                                                                      \
  METAL_CPU_CLASSIFY_VECTOR(T, isfinite)                                                                   \
  METAL_CPU_CLASSIFY_VECTOR(T, isnormal)                                                                   \
  METAL_CPU_CLASSIFY_VECTOR(T, signbit)                                                                    \
  template <int N>                                                                                         \
  METAL_CPU_INLINE vec<bool, N> isordered(vec<T, N> x, vec<T, N> y) {                                      \
    return x == x && y == y;                                                                               \
  }                                                                                                        \
  template <int N>                                                                                         \
  METAL_CPU_INLINE vec<bool, N> isunordered(vec<T, N> x, vec<T, N> y) {                                    \
    return x != x || y != y;                                                                               \
  }
#define METAL_CPU_CLASSIFY_VECTOR(T, NAME)                  \
  template <int N>                                          \
  METAL_CPU_INLINE vec<bool, N> NAME(vec<T, N> x) {         \
    vec<bool, N> out(false);                                \
    for (uint i = 0; i < N; ++i) out[i] = NAME(x[i]);       \
    return out;                                             \
  }
METAL_CPU_CLASSIFY(float)
METAL_CPU_CLASSIFY(half)
#undef METAL_CPU_CLASSIFY
#undef METAL_CPU_CLASSIFY_VECTOR

METAL_CPU_INLINE constexpr bool any(bool a) { return a; }
METAL_CPU_INLINE constexpr bool all(bool a) { return a; }
METAL_CPU_INLINE constexpr bool any(bool2 a) { return a.x || a.y; }
METAL_CPU_INLINE constexpr bool any(bool3 a) { return a.x || a.y || a.z; }
METAL_CPU_INLINE constexpr bool any(bool4 a) { return a.x || a.y || a.z || a.w; }
METAL_CPU_INLINE constexpr bool all(bool2 a) { return a.x && a.y; }
METAL_CPU_INLINE constexpr bool all(bool3 a) { return a.x && a.y && a.z; }
METAL_CPU_INLINE constexpr bool all(bool4 a) { return a.x && a.y && a.z && a.w; }

// select(a, b, c) is c ? b : a, by component for vectors.
template <class T>
METAL_CPU_INLINE constexpr T select(T a, T b, bool c) {
  return c ? b : a;
}
template <class T, int N>
METAL_CPU_INLINE constexpr vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
  for (uint i = 0; i < N; ++i) a[i] = c[i] ? b[i] : a[i];
  return a;
}

}  // namespace metal
