#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

template <typename T>
kernel void where_dense(
    device T* output [[buffer(0)]],
    constant bool* condition [[buffer(1)]],
    constant T* self [[buffer(2)]],
    constant T* other [[buffer(3)]],
    uint index [[thread_position_in_grid]]) {
  output[index] = condition[index] ? self[index] : other[index];
}

template <typename T>
kernel void where_strided(
    device void* output [[buffer(0)]],
    constant void* condition [[buffer(1)]],
    constant void* self [[buffer(2)]],
    constant void* other [[buffer(3)]],
    constant long* sizes [[buffer(4)]],
    constant long* output_strides [[buffer(5)]],
    constant long* condition_strides [[buffer(6)]],
    constant long* self_strides [[buffer(7)]],
    constant long* other_strides [[buffer(8)]],
    constant uint& ndim [[buffer(9)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const bool chosen = val_at_offs<bool>(
      condition, offset_from_coord(pos, condition_strides, ndim));
  ref_at_offs<T>(output, offset_from_coord(pos, output_strides, ndim)) = chosen
      ? val_at_offs<T>(self, offset_from_coord(pos, self_strides, ndim))
      : val_at_offs<T>(other, offset_from_coord(pos, other_strides, ndim));
}

#define REGISTER_WHERE_OP(DTYPE)                              \
  template [[host_name("where_dense_" #DTYPE)]]               \
  [[kernel]] decltype(where_dense<DTYPE>) where_dense<DTYPE>; \
  template [[host_name("where_strided_" #DTYPE)]]             \
  [[kernel]] decltype(where_strided<DTYPE>) where_strided<DTYPE>

REGISTER_WHERE_OP(float);
REGISTER_WHERE_OP(half);
REGISTER_WHERE_OP(bfloat);
REGISTER_WHERE_OP(long);
REGISTER_WHERE_OP(int);
REGISTER_WHERE_OP(short);
REGISTER_WHERE_OP(char);
REGISTER_WHERE_OP(uchar);
REGISTER_WHERE_OP(bool);
REGISTER_WHERE_OP(float2);
REGISTER_WHERE_OP(half2);
