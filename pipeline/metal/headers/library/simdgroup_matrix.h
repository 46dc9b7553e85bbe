// <metal_simdgroup_matrix>: 8 by 8 matrices spread over a simdgroup, two elements per lane, laid out as on Apple GPUs.
// Products are summed in float and rounded once to the type of the result.
#pragma once
#include "simdgroup.h"

namespace metal_cpu {

// The row and the first of the two columns that a lane holds.
struct MatrixPlace {
  uint row, column;
  METAL_CPU_INLINE explicit MatrixPlace(uint lane)
      : row((lane / 4 & 4) + lane / 2 % 4), column((lane / 4 & 2) * 2 + lane % 2 * 2) {}
};
METAL_CPU_RUNTIME MatrixPlace my_matrix_place() { return MatrixPlace(current_thread % simd_width); }

}  // namespace metal_cpu

namespace metal {

template <class T, int Columns, int Rows>
struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "simdgroup matrices are 8 by 8");
  using storage_type = vec<T, 2>;

  simdgroup_matrix() = default;
  METAL_CPU_INLINE explicit simdgroup_matrix(T diagonal) : elements(T(0)) {
    const metal_cpu::MatrixPlace place = metal_cpu::my_matrix_place();
    if (place.row == place.column) elements.x = diagonal;
    if (place.row == place.column + 1) elements.y = diagonal;
  }
  METAL_CPU_INLINE storage_type& thread_elements() { return elements; }
  METAL_CPU_INLINE const storage_type& thread_elements() const { return elements; }

  storage_type elements;
};

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int Columns, int Rows = Columns>
METAL_CPU_INLINE simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, Columns, Rows> matrix;
  matrix.elements = vec<T, 2>(value);
  return matrix;
}
template <class T, int Columns, int Rows = Columns>
METAL_CPU_INLINE simdgroup_matrix<T, Columns, Rows> make_diagonal_simdgroup_matrix(T value) {
  return simdgroup_matrix<T, Columns, Rows>(value);
}

template <class T, class P>
inline void simdgroup_load(simdgroup_matrix<T, 8, 8>& matrix, const P* source, ulong elements_per_row = 8,
                           ulong2 origin = ulong2(0), bool transpose = false) {
  const metal_cpu::MatrixPlace place = metal_cpu::my_matrix_place();
  for (uint i = 0; i < 2; ++i) {
    const ulong row = transpose ? place.column + i : place.row, column = transpose ? place.row : place.column + i;
    matrix.elements[i] = T(source[(row + origin.y) * elements_per_row + column + origin.x]);
  }
}
template <class T, class P>
inline void simdgroup_store(const simdgroup_matrix<T, 8, 8>& matrix, P* target, ulong elements_per_row = 8,
                            ulong2 origin = ulong2(0), bool transpose = false) {
  const metal_cpu::MatrixPlace place = metal_cpu::my_matrix_place();
  for (uint i = 0; i < 2; ++i) {
    const ulong row = transpose ? place.column + i : place.row, column = transpose ? place.row : place.column + i;
    target[(row + origin.y) * elements_per_row + column + origin.x] = P(matrix.elements[i]);
  }
}

template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                          const simdgroup_matrix<B, 8, 8>& b, const simdgroup_matrix<C, 8, 8>& c,
                                          METAL_CPU_SITE) {
  struct Share {
    vec<A, 2> a;
    vec<B, 2> b;
  };
  const metal_cpu::Lanes<Share, 32> lanes(Share{a.elements, b.elements}, metal_cpu::op_matrix, line, file);
  float left[8][8], right[8][8];
  for (uint lane = 0; lane < 32; ++lane) {
    const metal_cpu::MatrixPlace place(lane);
    const Share share = lanes[lane];
    for (uint i = 0; i < 2; ++i) {
      left[place.row][place.column + i] = float(share.a[i]);
      right[place.row][place.column + i] = float(share.b[i]);
    }
  }
  const metal_cpu::MatrixPlace place = metal_cpu::my_matrix_place();
  for (uint i = 0; i < 2; ++i) {
    float sum = float(c.elements[i]);
    for (uint k = 0; k < 8; ++k) sum += left[place.row][k] * right[k][place.column + i];
    d.elements[i] = D(sum);
  }
}
template <class D, class A, class B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                               const simdgroup_matrix<B, 8, 8>& b, METAL_CPU_SITE) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>(D(0)), line, file);
}
template <class T>
inline simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8>& a, const simdgroup_matrix<T, 8, 8>& b) {
  simdgroup_matrix<T, 8, 8> product;
  simdgroup_multiply(product, a, b);
  return product;
}

}  // namespace metal
#undef METAL_CPU_SITE
