#include <c10/metal/reduction_utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// w = v * g / norm(v), one threadgroup per slice of v along the dimension that
// is kept. Strides are those from slice to slice and from element to element.
template <typename T>
kernel void weight_norm(
    device T* w [[buffer(0)]],
    device float* norms [[buffer(1)]],
    constant T* v [[buffer(2)]],
    constant T* g [[buffer(3)]],
    constant long& size [[buffer(4)]],
    constant long2& strides [[buffer(5)]],
    uint slice [[threadgroup_position_in_grid]],
    uint thread_index [[thread_position_in_threadgroup]],
    uint threads [[threads_per_threadgroup]]) {
  threadgroup float partial[simdgroup_size];
  const long start = slice * strides.x;
  float sum = 0;
  for (long i = thread_index; i < size; i += threads) {
    const float x = static_cast<float>(v[start + i * strides.y]);
    sum += x * x;
  }
  const float norm =
      precise::sqrt(threadgroup_sum(partial, sum, thread_index, threads));
  if (thread_index == 0) {
    norms[slice] = norm;
  }
  const float factor = static_cast<float>(g[slice]) / norm;
  for (long i = thread_index; i < size; i += threads) {
    const long offset = start + i * strides.y;
    w[offset] = static_cast<T>(static_cast<float>(v[offset]) * factor);
  }
}

#define REGISTER_WEIGHT_NORM_OP(DTYPE)          \
  template [[host_name("weight_norm_" #DTYPE)]] \
  [[kernel]] decltype(weight_norm<DTYPE>) weight_norm<DTYPE>

REGISTER_WEIGHT_NORM_OP(float);
REGISTER_WEIGHT_NORM_OP(half);
REGISTER_WEIGHT_NORM_OP(bfloat);
