#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct log_sigmoid_forward_functor {
  template <typename T>
  inline T operator()(const T self) {
    const float x = static_cast<float>(self);
    return static_cast<T>(
        c10::metal::min(x, 0.0f) -
        c10::metal::log1p(precise::exp(-::metal::fabs(x))));
  }
};

REGISTER_UNARY_OP(log_sigmoid_forward, float, float);
REGISTER_UNARY_OP(log_sigmoid_forward, half, half);
REGISTER_UNARY_OP(log_sigmoid_forward, bfloat, bfloat);
