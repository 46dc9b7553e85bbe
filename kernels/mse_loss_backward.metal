#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct mse_backward_functor {
  template <typename T>
  inline T operator()(
      const T input,
      const T target,
      const T grad_output,
      const float norm) {
    const float difference =
        static_cast<float>(input) - static_cast<float>(target);
    return static_cast<T>(norm * difference * static_cast<float>(grad_output));
  }
};

template <typename T>
kernel void mse_backward_dense(
    device T* grad_input [[buffer(0)]],
    constant T* input [[buffer(1)]],
    constant T* target [[buffer(2)]],
    constant T* grad_output [[buffer(3)]],
    constant float& norm [[buffer(4)]],
    uint index [[thread_position_in_grid]]) {
  grad_input[index] = mse_backward_functor()(
      input[index], target[index], grad_output[index], norm);
}

template <typename T>
kernel void mse_backward_strided(
    device void* grad_input [[buffer(0)]],
    constant void* input [[buffer(1)]],
    constant void* target [[buffer(2)]],
    constant void* grad_output [[buffer(3)]],
    constant float& norm [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* grad_input_strides [[buffer(6)]],
    constant long* input_strides [[buffer(7)]],
    constant long* target_strides [[buffer(8)]],
    constant long* grad_output_strides [[buffer(9)]],
    constant uint& ndim [[buffer(10)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const auto a =
      val_at_offs<T>(input, offset_from_coord(pos, input_strides, ndim));
  const auto b =
      val_at_offs<T>(target, offset_from_coord(pos, target_strides, ndim));
  const auto c = val_at_offs<T>(
      grad_output, offset_from_coord(pos, grad_output_strides, ndim));
  ref_at_offs<T>(grad_input, offset_from_coord(pos, grad_input_strides, ndim)) =
      mse_backward_functor()(a, b, c, norm);
}

// Operands of any dtype, the output's first in types.
template <typename T>
kernel void mse_backward_strided_cast(
    device void* grad_input [[buffer(0)]],
    constant void* input [[buffer(1)]],
    constant void* target [[buffer(2)]],
    constant void* grad_output [[buffer(3)]],
    constant float& norm [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* grad_input_strides [[buffer(6)]],
    constant long* input_strides [[buffer(7)]],
    constant long* target_strides [[buffer(8)]],
    constant long* grad_output_strides [[buffer(9)]],
    constant uint& ndim [[buffer(10)]],
    constant uint4& types [[buffer(11)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const auto a = val_at_offs<T>(
      input,
      offset_from_coord(pos, input_strides, ndim),
      static_cast<ScalarType>(types.y));
  const auto b = val_at_offs<T>(
      target,
      offset_from_coord(pos, target_strides, ndim),
      static_cast<ScalarType>(types.z));
  const auto c = val_at_offs<T>(
      grad_output,
      offset_from_coord(pos, grad_output_strides, ndim),
      static_cast<ScalarType>(types.w));
  store_at_offs<T>(
      grad_input,
      offset_from_coord(pos, grad_input_strides, ndim),
      static_cast<ScalarType>(types.x),
      mse_backward_functor()(a, b, c, norm));
}

#define REGISTER_MSE_BACKWARD_OP(DTYPE)                                     \
  template [[host_name("mse_backward_dense_" #DTYPE)]]                      \
  [[kernel]] decltype(mse_backward_dense<DTYPE>) mse_backward_dense<DTYPE>; \
  template [[host_name("mse_backward_strided_" #DTYPE)]]                    \
  [[kernel]] decltype(mse_backward_strided<DTYPE>)                          \
      mse_backward_strided<DTYPE>;                                          \
  template [[host_name("mse_backward_strided_cast_" #DTYPE)]]               \
  [[kernel]] decltype(mse_backward_strided_cast<DTYPE>)                     \
      mse_backward_strided_cast<DTYPE>

REGISTER_MSE_BACKWARD_OP(float);
REGISTER_MSE_BACKWARD_OP(half);
REGISTER_MSE_BACKWARD_OP(bfloat);
