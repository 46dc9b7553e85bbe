#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct frac_functor {
  template <typename T>
  inline T operator()(const T x) {
    const auto value = static_cast<float>(x);
    return static_cast<T>(value - trunc(value));
  }
};

REGISTER_UNARY_OP(frac, float, float);
REGISTER_UNARY_OP(frac, half, half);
REGISTER_UNARY_OP(frac, bfloat, bfloat);
