#include <c10/metal/reduction_utils.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// One sum per threadgroup, in the type to accumulate in; strides are counted in
// elements.
template <typename T, typename A>
kernel void dot(
    device A* partial [[buffer(0)]],
    constant T* self [[buffer(1)]],
    constant T* other [[buffer(2)]],
    constant long& numel [[buffer(3)]],
    constant long2& strides [[buffer(4)]],
    uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]],
    uint thread_index [[thread_position_in_threadgroup]],
    uint threads [[threads_per_threadgroup]]) {
  threadgroup A shared[simdgroup_size];
  const long step = long(groups) * threads;
  A sum = A(0);
  for (long i = long(group) * threads + thread_index; i < numel; i += step) {
    sum += c10::metal::mul(
        static_cast<A>(self[i * strides.x]),
        static_cast<A>(other[i * strides.y]));
  }
  sum = threadgroup_sum(shared, sum, thread_index, threads);
  if (thread_index == 0) {
    partial[group] = sum;
  }
}

#define REGISTER_DOT_OP(DTYPE, SUM) \
  template [[host_name(             \
      "dot_" #DTYPE)]] [[kernel]] decltype(dot<DTYPE, SUM>) dot<DTYPE, SUM>

REGISTER_DOT_OP(float, float);
REGISTER_DOT_OP(half, float);
REGISTER_DOT_OP(bfloat, float);
REGISTER_DOT_OP(long, long);
REGISTER_DOT_OP(int, long);
REGISTER_DOT_OP(short, long);
REGISTER_DOT_OP(char, long);
REGISTER_DOT_OP(uchar, long);
REGISTER_DOT_OP(float2, float2);
REGISTER_DOT_OP(half2, float2);
