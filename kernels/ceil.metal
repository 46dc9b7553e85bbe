#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct ceil_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(::metal::ceil(static_cast<float>(x)));
  }
};

REGISTER_UNARY_OP(ceil, float, float);
REGISTER_UNARY_OP(ceil, half, half);
REGISTER_UNARY_OP(ceil, bfloat, bfloat);
