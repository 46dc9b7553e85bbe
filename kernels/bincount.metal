#include <c10/metal/atomic.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// Strides are counted in elements.
template <typename T>
kernel void bincount(
    device AtomicType_t<int>* counts [[buffer(0)]],
    constant T* input [[buffer(1)]],
    constant long& stride [[buffer(2)]],
    uint index [[thread_position_in_grid]]) {
  AtomicType<int>::atomic_add(
      counts, static_cast<long>(input[index * stride]), 1);
}

// W is the dtype of the weights and of their sums.
template <typename T, typename W>
kernel void bincount_weighted(
    device AtomicType_t<W>* sums [[buffer(0)]],
    constant T* input [[buffer(1)]],
    constant W* weights [[buffer(2)]],
    constant long2& strides [[buffer(3)]],
    uint index [[thread_position_in_grid]]) {
  AtomicType<W>::atomic_add(
      sums,
      static_cast<long>(input[index * strides.x]),
      weights[index * strides.y]);
}

#define REGISTER_BINCOUNT_WEIGHTED_OP(DTYPE, WEIGHT)                       \
  template [[host_name(                                                    \
      "bincount_weighted_" #DTYPE                                          \
      "_" #WEIGHT)]] [[kernel]] decltype(bincount_weighted<DTYPE, WEIGHT>) \
      bincount_weighted<DTYPE, WEIGHT>

#define REGISTER_BINCOUNT_OP(DTYPE)                     \
  template [[host_name("bincount_" #DTYPE)]]            \
  [[kernel]] decltype(bincount<DTYPE>) bincount<DTYPE>; \
  REGISTER_BINCOUNT_WEIGHTED_OP(DTYPE, float);          \
  REGISTER_BINCOUNT_WEIGHTED_OP(DTYPE, int);            \
  REGISTER_BINCOUNT_WEIGHTED_OP(DTYPE, long)

REGISTER_BINCOUNT_OP(long);
REGISTER_BINCOUNT_OP(int);
REGISTER_BINCOUNT_OP(short);
REGISTER_BINCOUNT_OP(char);
REGISTER_BINCOUNT_OP(uchar);
