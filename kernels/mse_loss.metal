#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct mse_functor {
  template <typename T>
  inline T operator()(const T input, const T target) {
    const T difference = input - target;
    return difference * difference;
  }
};

REGISTER_OPMATH_BINARY_OP(mse, float, float);
REGISTER_OPMATH_BINARY_OP(mse, half, half);
REGISTER_OPMATH_BINARY_OP(mse, bfloat, bfloat);
