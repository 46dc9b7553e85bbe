#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct floor_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(::metal::floor(static_cast<float>(x)));
  }
};

REGISTER_UNARY_OP(floor, float, float);
REGISTER_UNARY_OP(floor, half, half);
REGISTER_UNARY_OP(floor, bfloat, bfloat);
