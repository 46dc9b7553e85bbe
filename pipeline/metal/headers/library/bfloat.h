// bfloat: the upper 16 bits of a float. It converts implicitly to float and bool, and only integers convert implicitly
// to it; the math library has no overloads for it, so a call with bfloat arguments computes in float and returns float.
// Arithmetic rounds to bfloat after every operation.
#pragma once
#include "base.h"

namespace metal_cpu {

// Round to nearest, ties to even; a NaN stays a NaN.
METAL_CPU_INLINE constexpr ushort round_to_bfloat(float value) {
  const uint bits = __builtin_bit_cast(uint, value);
  const uint rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return ushort((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
}

template <class A, class B>
constexpr bool same_type = false;
template <class A>
constexpr bool same_type<A, A> = true;

template <bool, class T>
struct type_if {};
template <class T>
struct type_if<true, T> {
  using type = T;
};

}  // namespace metal_cpu

struct bfloat {
  bfloat() = default;
  METAL_CPU_COPIES(bfloat, : bits(other.bits) {})
  METAL_CPU_INLINE explicit constexpr bfloat(float value) : bits(metal_cpu::round_to_bfloat(value)) {}
  METAL_CPU_INLINE explicit constexpr bfloat(half value) : bits(metal_cpu::round_to_bfloat(float(value))) {}
  template <class T, typename metal_cpu::type_if<__is_integral(T), int>::type = 0>
  METAL_CPU_INLINE constexpr bfloat(T value) : bits(metal_cpu::round_to_bfloat(float(value))) {}

  // Templates, so that no other type is reached implicitly: `int i = b;` must not compile.
  template <class T, typename metal_cpu::type_if<metal_cpu::same_type<T, float>, int>::type = 0>
  METAL_CPU_INLINE constexpr operator T() const {
    return __builtin_bit_cast(float, uint(bits) << 16);
  }
  template <class T, typename metal_cpu::type_if<metal_cpu::same_type<T, bool>, long>::type = 0>
  METAL_CPU_INLINE constexpr operator T() const {
    return float(*this) != 0.0f;
  }
  template <class T, typename metal_cpu::type_if<
                         __is_arithmetic(T) && !metal_cpu::same_type<T, float> && !metal_cpu::same_type<T, bool>,
                         char>::type = 0>
  METAL_CPU_INLINE explicit constexpr operator T() const {
    return T(float(*this));
  }

#ifdef METAL_CPU_SPACES
  template <class T, typename metal_cpu::type_if<__is_arithmetic(T), short>::type = 0>
  constexpr operator T() const __constant {
    return T(0);
  }
#endif

  METAL_CPU_INLINE constexpr bfloat operator-() const { return from_bits(ushort(bits ^ 0x8000u)); }
  METAL_CPU_INLINE constexpr bfloat operator+() const { return *this; }
  METAL_CPU_INLINE constexpr bool operator!() const { return float(*this) == 0.0f; }

  static METAL_CPU_INLINE constexpr bfloat from_bits(ushort bits) {
    bfloat value(0.0f);
    value.bits = bits;
    return value;
  }

  ushort bits;
};
static_assert(sizeof(bfloat) == 2, "bfloat has 16 bits");

// bfloat with bfloat or an integer is a bfloat, with float a float; half and bfloat do not mix.
#define METAL_CPU_BFLOAT_ARITHMETIC(OP)                                                                      \
  METAL_CPU_INLINE constexpr bfloat operator OP(bfloat a, bfloat b) { return bfloat(float(a) OP float(b)); } \
  METAL_CPU_INLINE constexpr float operator OP(bfloat a, float b) { return float(a) OP b; }                  \
  METAL_CPU_INLINE constexpr float operator OP(float a, bfloat b) { return a OP float(b); }                  \
  template <class T, typename metal_cpu::type_if<__is_integral(T), int>::type = 0>                           \
  METAL_CPU_INLINE constexpr bfloat operator OP(bfloat a, T b) {                                             \
    return a OP bfloat(b);                                                                                   \
  }                                                                                                          \
  template <class T, typename metal_cpu::type_if<__is_integral(T), int>::type = 0>                           \
  METAL_CPU_INLINE constexpr bfloat operator OP(T a, bfloat b) {                                             \
    return bfloat(a) OP b;                                                                                   \
  }                                                                                                          \
  bfloat operator OP(bfloat, half) = delete;                                                                 \
  bfloat operator OP(half, bfloat) = delete;                                                                 \
  METAL_CPU_INLINE constexpr bfloat& operator OP##=(bfloat& a, bfloat b) { return a = a OP b; }              \
  template <class T, typename metal_cpu::type_if<__is_integral(T), int>::type = 0>                           \
  METAL_CPU_INLINE constexpr bfloat& operator OP##=(bfloat& a, T b) {                                        \
    return a = a OP bfloat(b);                                                                               \
  }
METAL_CPU_BFLOAT_ARITHMETIC(+)
METAL_CPU_BFLOAT_ARITHMETIC(-)
METAL_CPU_BFLOAT_ARITHMETIC(*)
METAL_CPU_BFLOAT_ARITHMETIC(/)
#undef METAL_CPU_BFLOAT_ARITHMETIC

#define METAL_CPU_BFLOAT_COMPARISON(OP)                                                                   \
  METAL_CPU_INLINE constexpr bool operator OP(bfloat a, bfloat b) { return float(a) OP float(b); }       \
  METAL_CPU_INLINE constexpr bool operator OP(bfloat a, float b) { return float(a) OP b; }               \
  METAL_CPU_INLINE constexpr bool operator OP(float a, bfloat b) { return a OP float(b); }               \
  template <class T, typename metal_cpu::type_if<__is_integral(T), int>::type = 0>                       \
  METAL_CPU_INLINE constexpr bool operator OP(bfloat a, T b) {                                           \
    return float(a) OP float(b);                                                                         \
  }                                                                                                      \
  template <class T, typename metal_cpu::type_if<__is_integral(T), int>::type = 0>                       \
  METAL_CPU_INLINE constexpr bool operator OP(T a, bfloat b) {                                           \
    return float(a) OP float(b);                                                                         \
  }                                                                                                      \
  bool operator OP(bfloat, half) = delete;                                                               \
  bool operator OP(half, bfloat) = delete;
METAL_CPU_BFLOAT_COMPARISON(==)
METAL_CPU_BFLOAT_COMPARISON(!=)
METAL_CPU_BFLOAT_COMPARISON(<)
METAL_CPU_BFLOAT_COMPARISON(>)
METAL_CPU_BFLOAT_COMPARISON(<=)
METAL_CPU_BFLOAT_COMPARISON(>=)
#undef METAL_CPU_BFLOAT_COMPARISON

METAL_CPU_INLINE constexpr bfloat& operator++(bfloat& a) { return a += bfloat(1.0f); }
METAL_CPU_INLINE constexpr bfloat& operator--(bfloat& a) { return a -= bfloat(1.0f); }
METAL_CPU_INLINE constexpr bfloat operator++(bfloat& a, int) {
  const bfloat old = a;
  ++a;
  return old;
}
METAL_CPU_INLINE constexpr bfloat operator--(bfloat& a, int) {
  const bfloat old = a;
  --a;
  return old;
}
