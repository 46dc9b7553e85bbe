// Right as it stands; the faults are in copies of the header.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct sub_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(a - b);
  }
};

REGISTER_OPMATH_BINARY_OP(sub, float, float);
REGISTER_OPMATH_BINARY_OP(sub, half, half);
REGISTER_OPMATH_BINARY_OP(sub, bfloat, bfloat);
REGISTER_BINARY_OP(sub, long, long);
REGISTER_BINARY_OP(sub, int, int);
REGISTER_BINARY_OP(sub, short, short);
REGISTER_BINARY_OP(sub, char, char);
REGISTER_BINARY_OP(sub, uchar, uchar);
REGISTER_BINARY_OP(sub, float2, float2);
REGISTER_BINARY_OP(sub, half2, half2);
