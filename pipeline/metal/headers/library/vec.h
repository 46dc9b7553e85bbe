// vec<T, N> and its spellings float2 ... ulong4 (MSL specification, 2.2). A class, not a compiler vector, because MSL
// constructs vectors with `float2(a, b)`. A vector of three occupies the space of four; packed_float3 does not.
#pragma once
#include "limits.h"

namespace metal {

template <class T, int N>
struct packed_vec;

// What the three sizes share. EACH(F) joins F(component) over the components of a vector with commas.
#define METAL_CPU_VEC_BODY(N, EACH)                                                         \
  using value_type = T;                                                                     \
  constexpr vec() = default;                                                                \
  template <class B, class = enable_if_t<is_same_v<B, bfloat> && is_same_v<T, float>>>      \
  METAL_CPU_INLINE constexpr vec(B s) : vec(float(s)) {}                                    \
  METAL_CPU_INLINE constexpr T& operator[](uint i) { return (&x)[i]; }                      \
  METAL_CPU_INLINE constexpr const T& operator[](uint i) const { return (&x)[i]; }          \
  METAL_CPU_COPIES(vec, : vec(EACH(METAL_CPU_VEC_OTHER)) {})                                \
  METAL_CPU_VEC_CONSTANT_ELEMENT                                                            \
  template <class U>                                                                        \
  METAL_CPU_INLINE explicit constexpr vec(vec<U, N> v) : vec(EACH(METAL_CPU_VEC_CONVERT)) {} \
  template <class U>                                                                        \
  METAL_CPU_INLINE explicit constexpr vec(packed_vec<U, N> v) : vec(v.unpacked()) {}         \
  METAL_CPU_VEC_ARITHMETIC(N, EACH, +)                                                      \
  METAL_CPU_VEC_ARITHMETIC(N, EACH, -)                                                      \
  METAL_CPU_VEC_ARITHMETIC(N, EACH, *)                                                      \
  METAL_CPU_VEC_ARITHMETIC(N, EACH, /)                                                      \
  METAL_CPU_VEC_INTEGER(N, EACH, %)                                                         \
  METAL_CPU_VEC_INTEGER(N, EACH, &)                                                         \
  METAL_CPU_VEC_INTEGER(N, EACH, |)                                                         \
  METAL_CPU_VEC_INTEGER(N, EACH, ^)                                                         \
  METAL_CPU_VEC_INTEGER(N, EACH, <<)                                                        \
  METAL_CPU_VEC_INTEGER(N, EACH, >>)                                                        \
  METAL_CPU_VEC_COMPARISON(N, EACH, ==)                                                     \
  METAL_CPU_VEC_COMPARISON(N, EACH, !=)                                                     \
  METAL_CPU_VEC_COMPARISON(N, EACH, <)                                                      \
  METAL_CPU_VEC_COMPARISON(N, EACH, >)                                                      \
  METAL_CPU_VEC_COMPARISON(N, EACH, <=)                                                     \
  METAL_CPU_VEC_COMPARISON(N, EACH, >=)                                                     \
  METAL_CPU_VEC_COMPARISON(N, EACH, &&)                                                     \
  METAL_CPU_VEC_COMPARISON(N, EACH, ||)                                                     \
  METAL_CPU_INLINE constexpr vec operator-() const { return vec(EACH(METAL_CPU_VEC_MINUS)); } \
  METAL_CPU_INLINE constexpr vec operator+() const { return *this; }                        \
  METAL_CPU_INLINE constexpr vec<bool, N> operator!() const { return vec<bool, N>(EACH(METAL_CPU_VEC_NOT)); } \
  template <class I = T, class = enable_if_t<is_integral_v<I>>>                             \
  METAL_CPU_INLINE constexpr vec operator~() const { return vec(EACH(METAL_CPU_VEC_INVERT)); } \
  METAL_CPU_INLINE constexpr vec& operator++() { return *this += vec(T(1)); }               \
  METAL_CPU_INLINE constexpr vec& operator--() { return *this -= vec(T(1)); }

#ifdef METAL_CPU_SPACES
#define METAL_CPU_VEC_CONSTANT_ELEMENT \
  constexpr const __constant T& operator[](uint i) const __constant { return (&x)[i]; }
#else
#define METAL_CPU_VEC_CONSTANT_ELEMENT
#endif
#define METAL_CPU_VEC_OTHER(c) other.c
#define METAL_CPU_VEC_CONVERT(c) T(v.c)
#define METAL_CPU_VEC_MINUS(c) T(-c)
#define METAL_CPU_VEC_NOT(c) !c
#define METAL_CPU_VEC_INVERT(c) T(~c)

// `a OP b` stands inside a lambda-free macro, so the operator is passed along with the component.
#define METAL_CPU_VEC_ARITHMETIC(N, EACH, OP)                                                            \
  friend METAL_CPU_INLINE constexpr vec operator OP(vec a, vec b) { return vec(EACH##_OP(T, OP)); }      \
  METAL_CPU_INLINE constexpr vec& operator OP##=(vec b) { return *this = *this OP b; }
#define METAL_CPU_VEC_INTEGER(N, EACH, OP)                                                               \
  template <class I = T, class = enable_if_t<is_integral_v<I>>>                                          \
  friend METAL_CPU_INLINE constexpr vec operator OP(vec a, vec b) { return vec(EACH##_OP(T, OP)); }      \
  template <class I = T, class = enable_if_t<is_integral_v<I>>>                                          \
  METAL_CPU_INLINE constexpr vec& operator OP##=(vec b) { return *this = *this OP b; }
#define METAL_CPU_VEC_COMPARISON(N, EACH, OP)                                                            \
  friend METAL_CPU_INLINE constexpr vec<bool, N> operator OP(vec a, vec b) {                             \
    return vec<bool, N>(EACH##_OP(bool, OP));                                                            \
  }

#define METAL_CPU_EACH2(F) F(x), F(y)
#define METAL_CPU_EACH3(F) F(x), F(y), F(z)
#define METAL_CPU_EACH4(F) F(x), F(y), F(z), F(w)
#define METAL_CPU_EACH2_OP(R, OP) R(a.x OP b.x), R(a.y OP b.y)
#define METAL_CPU_EACH3_OP(R, OP) R(a.x OP b.x), R(a.y OP b.y), R(a.z OP b.z)
#define METAL_CPU_EACH4_OP(R, OP) R(a.x OP b.x), R(a.y OP b.y), R(a.z OP b.z), R(a.w OP b.w)

template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> {
  T x, y;
  METAL_CPU_INLINE constexpr vec(T s) : x(s), y(s) {}
  METAL_CPU_INLINE constexpr vec(T a, T b) : x(a), y(b) {}
  METAL_CPU_VEC_BODY(2, METAL_CPU_EACH2)
#include "swizzle2.h"
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> {
  T x, y, z;
  METAL_CPU_INLINE constexpr vec(T s) : x(s), y(s), z(s) {}
  METAL_CPU_INLINE constexpr vec(T a, T b, T c) : x(a), y(b), z(c) {}
  METAL_CPU_INLINE constexpr vec(vec<T, 2> a, T c) : x(a.x), y(a.y), z(c) {}
  METAL_CPU_INLINE constexpr vec(T a, vec<T, 2> b) : x(a), y(b.x), z(b.y) {}
  METAL_CPU_VEC_BODY(3, METAL_CPU_EACH3)
#include "swizzle3.h"
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> {
  T x, y, z, w;
  METAL_CPU_INLINE constexpr vec(T s) : x(s), y(s), z(s), w(s) {}
  METAL_CPU_INLINE constexpr vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  METAL_CPU_INLINE constexpr vec(vec<T, 2> a, vec<T, 2> b) : x(a.x), y(a.y), z(b.x), w(b.y) {}
  METAL_CPU_INLINE constexpr vec(vec<T, 2> a, T c, T d) : x(a.x), y(a.y), z(c), w(d) {}
  METAL_CPU_INLINE constexpr vec(T a, vec<T, 2> b, T d) : x(a), y(b.x), z(b.y), w(d) {}
  METAL_CPU_INLINE constexpr vec(T a, T b, vec<T, 2> c) : x(a), y(b), z(c.x), w(c.y) {}
  METAL_CPU_INLINE constexpr vec(vec<T, 3> a, T d) : x(a.x), y(a.y), z(a.z), w(d) {}
  METAL_CPU_INLINE constexpr vec(T a, vec<T, 3> b) : x(a), y(b.x), z(b.y), w(b.z) {}
  METAL_CPU_VEC_BODY(4, METAL_CPU_EACH4)
#include "swizzle4.h"
};

#undef METAL_CPU_VEC_BODY
#undef METAL_CPU_VEC_CONSTANT_ELEMENT
#undef METAL_CPU_VEC_OTHER
#undef METAL_CPU_VEC_CONVERT
#undef METAL_CPU_VEC_MINUS
#undef METAL_CPU_VEC_NOT
#undef METAL_CPU_VEC_INVERT
#undef METAL_CPU_VEC_ARITHMETIC
#undef METAL_CPU_VEC_INTEGER
#undef METAL_CPU_VEC_COMPARISON
#undef METAL_CPU_EACH2_OP
#undef METAL_CPU_EACH3_OP
#undef METAL_CPU_EACH4_OP

// packed_T2/3/4: the same components without the alignment.
template <class T, int N>
struct packed_vec {
  T components[N];
  packed_vec() = default;
  METAL_CPU_INLINE packed_vec(vec<T, N> v) {
    for (int i = 0; i < N; ++i) components[i] = v[uint(i)];
  }
  METAL_CPU_INLINE explicit packed_vec(T s) : packed_vec(vec<T, N>(s)) {}
  template <class... U, class = enable_if_t<sizeof...(U) == N - 2>>
  METAL_CPU_INLINE packed_vec(T a, T b, U... rest) : packed_vec(vec<T, N>(a, b, T(rest)...)) {}
  METAL_CPU_INLINE constexpr vec<T, N> unpacked() const {
    vec<T, N> v(T(0));
    for (int i = 0; i < N; ++i) v[uint(i)] = components[i];
    return v;
  }
  METAL_CPU_INLINE constexpr operator vec<T, N>() const { return unpacked(); }
  METAL_CPU_INLINE T& operator[](uint i) { return components[i]; }
  METAL_CPU_INLINE const T& operator[](uint i) const { return components[i]; }
};

}  // namespace metal

#define METAL_CPU_SPELLINGS(T)                                                                                \
  using T##2 = metal::vec<T, 2>;                                                                              \
  using T##3 = metal::vec<T, 3>;                                                                              \
  using T##4 = metal::vec<T, 4>;                                                                              \
  static_assert(sizeof(T##2) == 2 * sizeof(T) && sizeof(T##3) == 4 * sizeof(T) && sizeof(T##4) == 4 * sizeof(T), "");
METAL_CPU_SPELLINGS(bool)
METAL_CPU_SPELLINGS(char)
METAL_CPU_SPELLINGS(uchar)
METAL_CPU_SPELLINGS(short)
METAL_CPU_SPELLINGS(ushort)
METAL_CPU_SPELLINGS(int)
METAL_CPU_SPELLINGS(uint)
METAL_CPU_SPELLINGS(long)
METAL_CPU_SPELLINGS(ulong)
METAL_CPU_SPELLINGS(half)
METAL_CPU_SPELLINGS(bfloat)
METAL_CPU_SPELLINGS(float)
#undef METAL_CPU_SPELLINGS

#define METAL_CPU_SPELLINGS(T)                      \
  using packed_##T##2 = metal::packed_vec<T, 2>;    \
  using packed_##T##3 = metal::packed_vec<T, 3>;    \
  using packed_##T##4 = metal::packed_vec<T, 4>;    \
  static_assert(sizeof(packed_##T##3) == 3 * sizeof(T), "");
METAL_CPU_SPELLINGS(char)
METAL_CPU_SPELLINGS(uchar)
METAL_CPU_SPELLINGS(short)
METAL_CPU_SPELLINGS(ushort)
METAL_CPU_SPELLINGS(int)
METAL_CPU_SPELLINGS(uint)
METAL_CPU_SPELLINGS(long)
METAL_CPU_SPELLINGS(half)
METAL_CPU_SPELLINGS(bfloat)
METAL_CPU_SPELLINGS(float)
#undef METAL_CPU_SPELLINGS

// as_type<T>(value): the same bits as another type of the same size.
template <class To, class From>
METAL_CPU_INLINE constexpr To as_type(From value) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs types of the same size");
#ifdef METAL_CPU_SPACES
  return To(0);
#else
  return __builtin_bit_cast(To, value);
#endif
}
namespace metal {
using ::as_type;
}
