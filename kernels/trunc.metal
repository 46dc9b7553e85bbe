#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct trunc_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(::metal::trunc(static_cast<float>(x)));
  }
};

REGISTER_UNARY_OP(trunc, float, float);
REGISTER_UNARY_OP(trunc, half, half);
REGISTER_UNARY_OP(trunc, bfloat, bfloat);
