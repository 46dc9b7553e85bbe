#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct glu_functor {
  template <typename T>
  inline T operator()(const T first, const T second) {
    const float gate = 1 / (1 + precise::exp(-static_cast<float>(second)));
    return static_cast<T>(static_cast<float>(first) * gate);
  }
};

REGISTER_OPMATH_BINARY_OP(glu, float, float);
REGISTER_OPMATH_BINARY_OP(glu, half, half);
REGISTER_OPMATH_BINARY_OP(glu, bfloat, bfloat);
