#include <c10/metal/reduction_utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// grad_input = grad_output - exp(output) * sum(grad_output)
// One threadgroup per row; rows are dim_size elements, inner apart.
template <typename T, typename T_GRAD>
kernel void log_softmax_backward(
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
    sum += static_cast<float>(grad_output[offset]);
  }
  sum = threadgroup_sum(partial, sum, thread_index, threads);
  for (uint i = thread_index; i < dim_size; i += threads) {
    const ulong offset = start + i * inner;
    const float grad = static_cast<float>(grad_output[offset]);
    const float y = static_cast<float>(output[offset]);
    grad_input[offset] = static_cast<T>(grad - precise::exp(y) * sum);
  }
}

#define REGISTER_LOG_SOFTMAX_BACKWARD_OP(DTYPE, GRAD)                     \
  template [[host_name(                                                   \
      "log_softmax_backward_" #DTYPE                                      \
      "_" #GRAD)]] [[kernel]] decltype(log_softmax_backward<DTYPE, GRAD>) \
      log_softmax_backward<DTYPE, GRAD>

REGISTER_LOG_SOFTMAX_BACKWARD_OP(float, float);
REGISTER_LOG_SOFTMAX_BACKWARD_OP(half, half);
REGISTER_LOG_SOFTMAX_BACKWARD_OP(bfloat, bfloat);
REGISTER_LOG_SOFTMAX_BACKWARD_OP(half, float);
