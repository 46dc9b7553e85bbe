#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// The iterator walks the output backwards along the flipped dimensions; what is
// left is a copy.
struct flip_functor {
  template <typename T>
  inline T operator()(const T x) {
    return x;
  }
};

REGISTER_UNARY_OP(flip, float, float);
REGISTER_UNARY_OP(flip, half, half);
REGISTER_UNARY_OP(flip, bfloat, bfloat);
REGISTER_UNARY_OP(flip, long, long);
REGISTER_UNARY_OP(flip, int, int);
REGISTER_UNARY_OP(flip, short, short);
REGISTER_UNARY_OP(flip, char, char);
REGISTER_UNARY_OP(flip, uchar, uchar);
REGISTER_UNARY_OP(flip, bool, bool);
REGISTER_UNARY_OP(flip, float2, float2);
REGISTER_UNARY_OP(flip, half2, half2);
