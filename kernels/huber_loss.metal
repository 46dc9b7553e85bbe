#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct huber_functor {
  template <typename T>
  inline T operator()(const T input, const T target, const float delta) {
    const float z =
        ::metal::fabs(static_cast<float>(input) - static_cast<float>(target));
    return static_cast<T>(
        z < delta ? 0.5f * z * z : delta * (z - 0.5f * delta));
  }
};

REGISTER_BINARY_ALPHA_OP(huber, float, float, float);
REGISTER_BINARY_ALPHA_OP(huber, half, float, half);
REGISTER_BINARY_ALPHA_OP(huber, bfloat, float, bfloat);
