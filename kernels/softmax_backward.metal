#include <c10/metal/reduction_utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// grad_input = (grad_output - sum(grad_output * output)) * output
// One threadgroup per row; rows are dim_size elements, inner apart.
template <typename T, typename T_GRAD>
kernel void softmax_backward(
    device T* grad_input [[buffer(0)]],
    constant T_GRAD* grad_output [[buffer(1)]],
    constant T_GRAD* output [[buffer(2)]],
    constant uint& dim_size [[buffer(3)]],
    constant ulong& inner [[buffer(4)]],
    uint row [[threadgroup_position_in_grid]],
    uint thread_index [[thread_position_in_threadgroup]],
    uint threads [[threads_per_threadgroup]]) {
  threadgroup float partial[simdgroup_size];
  const ulong start = row / inner * dim_size * inner + row % inner;
  float sum = 0;
  for (uint i = thread_index; i < dim_size; i += threads) {
    const ulong offset = start + i * inner;
    sum += static_cast<float>(grad_output[offset]) *
        static_cast<float>(output[offset]);
  }
  sum = threadgroup_sum(partial, sum, thread_index, threads);
  for (uint i = thread_index; i < dim_size; i += threads) {
    const ulong offset = start + i * inner;
    const float grad = static_cast<float>(grad_output[offset]);
    const float y = static_cast<float>(output[offset]);
    grad_input[offset] = static_cast<T>((grad - sum) * y);
  }
}

#define REGISTER_SOFTMAX_BACKWARD_OP(DTYPE, GRAD)                     \
  template [[host_name(                                               \
      "softmax_backward_" #DTYPE                                      \
      "_" #GRAD)]] [[kernel]] decltype(softmax_backward<DTYPE, GRAD>) \
      softmax_backward<DTYPE, GRAD>

REGISTER_SOFTMAX_BACKWARD_OP(float, float);
REGISTER_SOFTMAX_BACKWARD_OP(half, half);
REGISTER_SOFTMAX_BACKWARD_OP(bfloat, bfloat);
REGISTER_SOFTMAX_BACKWARD_OP(half, float);
