#include <c10/metal/reduction_utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// grad_g = sum(grad_w * v) / norm
// grad_v = g / norm * grad_w - v * (g / norm * grad_g / norm)
// One threadgroup per slice of v along the dimension that is kept. Strides are
// those from slice to slice and from element to element.
template <typename T>
kernel void weight_norm_backward(
    device T* grad_v [[buffer(0)]],
    device T* grad_g [[buffer(1)]],
    constant T* grad_w [[buffer(2)]],
    constant T* v [[buffer(3)]],
    constant T* g [[buffer(4)]],
    constant float* norms [[buffer(5)]],
    constant long& size [[buffer(6)]],
    constant long2& strides [[buffer(7)]],
    uint slice [[threadgroup_position_in_grid]],
    uint thread_index [[thread_position_in_threadgroup]],
    uint threads [[threads_per_threadgroup]]) {
  threadgroup float partial[simdgroup_size];
  const long start = slice * strides.x;
  float sum = 0;
  for (long i = thread_index; i < size; i += threads) {
    const long offset = start + i * strides.y;
    sum += static_cast<float>(grad_w[offset]) * static_cast<float>(v[offset]);
  }
  const float norm = norms[slice];
  const float along =
      threadgroup_sum(partial, sum, thread_index, threads) / norm;
  if (thread_index == 0) {
    grad_g[slice] = static_cast<T>(along);
  }
  const float factor = static_cast<float>(g[slice]) / norm;
  const float radial = factor * along / norm;
  for (long i = thread_index; i < size; i += threads) {
    const long offset = start + i * strides.y;
    const float grad = static_cast<float>(grad_w[offset]);
    const float x = static_cast<float>(v[offset]);
    grad_v[offset] = static_cast<T>(factor * grad - x * radial);
  }
}

#define REGISTER_WEIGHT_NORM_BACKWARD_OP(DTYPE)          \
  template [[host_name("weight_norm_backward_" #DTYPE)]] \
  [[kernel]] decltype(weight_norm_backward<DTYPE>) weight_norm_backward<DTYPE>

REGISTER_WEIGHT_NORM_BACKWARD_OP(float);
REGISTER_WEIGHT_NORM_BACKWARD_OP(half);
REGISTER_WEIGHT_NORM_BACKWARD_OP(bfloat);
