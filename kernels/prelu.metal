#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct prelu_functor {
  template <typename T>
  inline T operator()(const T self, const T weight) {
    return self > 0 ? self : weight * self;
  }
};

REGISTER_OPMATH_BINARY_OP(prelu, float, float);
REGISTER_OPMATH_BINARY_OP(prelu, half, half);
REGISTER_OPMATH_BINARY_OP(prelu, bfloat, bfloat);
