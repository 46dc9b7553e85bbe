#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

template <typename T>
inline bool is_among(const T element, constant T* test_elements, uint count) {
  for (uint i = 0; i < count; ++i) {
    if (element == test_elements[i]) {
      return true;
    }
  }
  return false;
}

template <typename T>
kernel void isin_dense(
    device bool* output [[buffer(0)]],
    constant T* elements [[buffer(1)]],
    constant T* test_elements [[buffer(2)]],
    constant uint& count [[buffer(3)]],
    constant bool& invert [[buffer(4)]],
    uint index [[thread_position_in_grid]]) {
  output[index] = is_among(elements[index], test_elements, count) != invert;
}

template <typename T>
kernel void isin_strided(
    device void* output [[buffer(0)]],
    constant void* elements [[buffer(1)]],
    constant T* test_elements [[buffer(2)]],
    constant uint& count [[buffer(3)]],
    constant bool& invert [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* output_strides [[buffer(6)]],
    constant long* elements_strides [[buffer(7)]],
    constant uint& ndim [[buffer(8)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const auto element =
      val_at_offs<T>(elements, offset_from_coord(pos, elements_strides, ndim));
  ref_at_offs<bool>(output, offset_from_coord(pos, output_strides, ndim)) =
      is_among(element, test_elements, count) != invert;
}

#define REGISTER_ISIN_OP(DTYPE)                             \
  template [[host_name("isin_dense_" #DTYPE)]]              \
  [[kernel]] decltype(isin_dense<DTYPE>) isin_dense<DTYPE>; \
  template [[host_name("isin_strided_" #DTYPE)]]            \
  [[kernel]] decltype(isin_strided<DTYPE>) isin_strided<DTYPE>

REGISTER_ISIN_OP(float);
REGISTER_ISIN_OP(half);
REGISTER_ISIN_OP(bfloat);
REGISTER_ISIN_OP(long);
REGISTER_ISIN_OP(int);
REGISTER_ISIN_OP(short);
REGISTER_ISIN_OP(char);
REGISTER_ISIN_OP(uchar);
