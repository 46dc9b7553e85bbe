#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct prelu_gradients {
  // Both in float: the gradients of the input and of the weight.
  float self;
  float weight;

  prelu_gradients(const float x, const float w, const float grad)
      : self(x > 0 ? grad : w * grad), weight(x > 0 ? 0 : x * grad) {}
};

template <typename T>
kernel void prelu_backward_dense(
    device T* grad_self [[buffer(0)]],
    device T* grad_weight [[buffer(1)]],
    constant T* self [[buffer(2)]],
    constant T* weight [[buffer(3)]],
    constant T* grad_output [[buffer(4)]],
    uint index [[thread_position_in_grid]]) {
  const prelu_gradients grad(
      static_cast<float>(self[index]),
      static_cast<float>(weight[index]),
      static_cast<float>(grad_output[index]));
  grad_self[index] = static_cast<T>(grad.self);
  grad_weight[index] = static_cast<T>(grad.weight);
}

template <typename T>
kernel void prelu_backward_strided(
    device void* grad_self [[buffer(0)]],
    device void* grad_weight [[buffer(1)]],
    constant void* self [[buffer(2)]],
    constant void* weight [[buffer(3)]],
    constant void* grad_output [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* grad_self_strides [[buffer(6)]],
    constant long* grad_weight_strides [[buffer(7)]],
    constant long* self_strides [[buffer(8)]],
    constant long* weight_strides [[buffer(9)]],
    constant long* grad_output_strides [[buffer(10)]],
    constant uint& ndim [[buffer(11)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const auto x =
      val_at_offs<T>(self, offset_from_coord(pos, self_strides, ndim));
  const auto w =
      val_at_offs<T>(weight, offset_from_coord(pos, weight_strides, ndim));
  const auto g = val_at_offs<T>(
      grad_output, offset_from_coord(pos, grad_output_strides, ndim));
  const prelu_gradients grad(
      static_cast<float>(x), static_cast<float>(w), static_cast<float>(g));
  ref_at_offs<T>(grad_self, offset_from_coord(pos, grad_self_strides, ndim)) =
      static_cast<T>(grad.self);
  ref_at_offs<T>(
      grad_weight, offset_from_coord(pos, grad_weight_strides, ndim)) =
      static_cast<T>(grad.weight);
}

#define REGISTER_PRELU_BACKWARD_OP(DTYPE)                  \
  template [[host_name("prelu_backward_dense_" #DTYPE)]]   \
  [[kernel]] decltype(prelu_backward_dense<DTYPE>)         \
      prelu_backward_dense<DTYPE>;                         \
  template [[host_name("prelu_backward_strided_" #DTYPE)]] \
  [[kernel]] decltype(prelu_backward_strided<DTYPE>)       \
      prelu_backward_strided<DTYPE>

REGISTER_PRELU_BACKWARD_OP(float);
REGISTER_PRELU_BACKWARD_OP(half);
REGISTER_PRELU_BACKWARD_OP(bfloat);
