#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct glu_gradients {
  // Both in float: the gradients of the gated half and of the gating one.
  float first;
  float second;

  glu_gradients(const float a, const float b, const float grad) {
    const float n = precise::exp(-::metal::fabs(b));
    const float sigmoid = (b >= 0 ? 1 : n) / (1 + n);
    const float complement = (b >= 0 ? n : 1) / (1 + n);
    first = sigmoid * grad;
    second = complement * sigmoid * a * grad;
  }
};

template <typename T>
kernel void glu_backward_dense(
    device T* grad_first [[buffer(0)]],
    device T* grad_second [[buffer(1)]],
    constant T* first [[buffer(2)]],
    constant T* second [[buffer(3)]],
    constant T* grad_output [[buffer(4)]],
    uint index [[thread_position_in_grid]]) {
  const glu_gradients grad(
      static_cast<float>(first[index]),
      static_cast<float>(second[index]),
      static_cast<float>(grad_output[index]));
  grad_first[index] = static_cast<T>(grad.first);
  grad_second[index] = static_cast<T>(grad.second);
}

template <typename T>
kernel void glu_backward_strided(
    device void* grad_first [[buffer(0)]],
    device void* grad_second [[buffer(1)]],
    constant void* first [[buffer(2)]],
    constant void* second [[buffer(3)]],
    constant void* grad_output [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* grad_first_strides [[buffer(6)]],
    constant long* grad_second_strides [[buffer(7)]],
    constant long* first_strides [[buffer(8)]],
    constant long* second_strides [[buffer(9)]],
    constant long* grad_output_strides [[buffer(10)]],
    constant uint& ndim [[buffer(11)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const auto a =
      val_at_offs<T>(first, offset_from_coord(pos, first_strides, ndim));
  const auto b =
      val_at_offs<T>(second, offset_from_coord(pos, second_strides, ndim));
  const auto g = val_at_offs<T>(
      grad_output, offset_from_coord(pos, grad_output_strides, ndim));
  const glu_gradients grad(
      static_cast<float>(a), static_cast<float>(b), static_cast<float>(g));
  ref_at_offs<T>(grad_first, offset_from_coord(pos, grad_first_strides, ndim)) =
      static_cast<T>(grad.first);
  ref_at_offs<T>(
      grad_second, offset_from_coord(pos, grad_second_strides, ndim)) =
      static_cast<T>(grad.second);
}

#define REGISTER_GLU_BACKWARD_OP(DTYPE)                                     \
  template [[host_name("glu_backward_dense_" #DTYPE)]]                      \
  [[kernel]] decltype(glu_backward_dense<DTYPE>) glu_backward_dense<DTYPE>; \
  template [[host_name("glu_backward_strided_" #DTYPE)]]                    \
  [[kernel]] decltype(glu_backward_strided<DTYPE>) glu_backward_strided<DTYPE>

REGISTER_GLU_BACKWARD_OP(float);
REGISTER_GLU_BACKWARD_OP(half);
REGISTER_GLU_BACKWARD_OP(bfloat);
