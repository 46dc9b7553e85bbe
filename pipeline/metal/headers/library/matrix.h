// <metal_matrix>: matrix<T, Columns, Rows>, spelt float2x2 ... half4x4, stored by column.
#pragma once
#include "geometric.h"

namespace metal {

template <class T, int Columns, int Rows>
struct matrix {
  using column_type = vec<T, Rows>;

  matrix() = default;
  METAL_CPU_INLINE explicit matrix(T diagonal) {
    for (uint c = 0; c < Columns; ++c) {
      for (uint r = 0; r < Rows; ++r) columns[c][r] = r == c ? diagonal : T(0);
    }
  }
  template <class... U, class = enable_if_t<sizeof...(U) + 2 == Columns>>
  METAL_CPU_INLINE matrix(column_type first, column_type second, U... rest) : columns{first, second, column_type(rest)...} {}
  template <class U>
  METAL_CPU_INLINE explicit matrix(const matrix<U, Columns, Rows>& other) {
    for (uint c = 0; c < Columns; ++c) columns[c] = column_type(other[c]);
  }

  METAL_CPU_INLINE column_type& operator[](uint c) { return columns[c]; }
  METAL_CPU_INLINE const column_type& operator[](uint c) const { return columns[c]; }

  column_type columns[Columns];
};

#define METAL_CPU_MATRIX_OPERATOR(OP)                                                                          \
  template <class T, int C, int R>                                                                             \
  METAL_CPU_INLINE matrix<T, C, R> operator OP(matrix<T, C, R> a, const matrix<T, C, R>& b) {                  \
    for (uint c = 0; c < C; ++c) a[c] = a[c] OP b[c];                                                          \
    return a;                                                                                                  \
  }                                                                                                            \
  template <class T, int C, int R>                                                                             \
  METAL_CPU_INLINE matrix<T, C, R>& operator OP##=(matrix<T, C, R>& a, const matrix<T, C, R>& b) {             \
    return a = a OP b;                                                                                         \
  }
METAL_CPU_MATRIX_OPERATOR(+)
METAL_CPU_MATRIX_OPERATOR(-)
#undef METAL_CPU_MATRIX_OPERATOR

template <class T, int C, int R>
METAL_CPU_INLINE matrix<T, C, R> operator*(matrix<T, C, R> a, typename metal_cpu::identity<T>::type s) {
  for (uint c = 0; c < C; ++c) a[c] *= s;
  return a;
}
template <class T, int C, int R>
METAL_CPU_INLINE matrix<T, C, R> operator*(typename metal_cpu::identity<T>::type s, const matrix<T, C, R>& a) {
  return a * s;
}
template <class T, int C, int R>
METAL_CPU_INLINE vec<T, R> operator*(const matrix<T, C, R>& a, vec<T, C> v) {
  vec<T, R> sum = a[0] * v[0];
  for (uint c = 1; c < C; ++c) sum += a[c] * v[c];
  return sum;
}
template <class T, int C, int R>
METAL_CPU_INLINE vec<T, C> operator*(vec<T, R> v, const matrix<T, C, R>& a) {
  vec<T, C> product;
  for (uint c = 0; c < C; ++c) product[c] = dot(v, a[c]);
  return product;
}
template <class T, int K, int C, int R>
METAL_CPU_INLINE matrix<T, C, R> operator*(const matrix<T, K, R>& a, const matrix<T, C, K>& b) {
  matrix<T, C, R> product;
  for (uint c = 0; c < C; ++c) product[c] = a * b[c];
  return product;
}
template <class T, int C, int R>
METAL_CPU_INLINE matrix<T, R, C> transpose(const matrix<T, C, R>& a) {
  matrix<T, R, C> turned;
  for (uint c = 0; c < C; ++c) {
    for (uint r = 0; r < R; ++r) turned[r][c] = a[c][r];
  }
  return turned;
}
template <class T>
METAL_CPU_INLINE T determinant(const matrix<T, 2, 2>& a) {
  return T(a[0].x * a[1].y - a[1].x * a[0].y);
}
template <class T>
METAL_CPU_INLINE T determinant(const matrix<T, 3, 3>& a) {
  return dot(a[0], cross(a[1], a[2]));
}

}  // namespace metal

#define METAL_CPU_SPELLINGS(T)               \
  using T##2x2 = metal::matrix<T, 2, 2>;     \
  using T##2x3 = metal::matrix<T, 2, 3>;     \
  using T##2x4 = metal::matrix<T, 2, 4>;     \
  using T##3x2 = metal::matrix<T, 3, 2>;     \
  using T##3x3 = metal::matrix<T, 3, 3>;     \
  using T##3x4 = metal::matrix<T, 3, 4>;     \
  using T##4x2 = metal::matrix<T, 4, 2>;     \
  using T##4x3 = metal::matrix<T, 4, 3>;     \
  using T##4x4 = metal::matrix<T, 4, 4>;
METAL_CPU_SPELLINGS(float)
METAL_CPU_SPELLINGS(half)
#undef METAL_CPU_SPELLINGS
