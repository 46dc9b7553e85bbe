#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct smooth_l1_functor {
  template <typename T>
  inline T operator()(const T input, const T target, const float beta) {
    const float z =
        ::metal::fabs(static_cast<float>(input) - static_cast<float>(target));
    return static_cast<T>(z < beta ? 0.5f * z * z / beta : z - 0.5f * beta);
  }
};

REGISTER_BINARY_ALPHA_OP(smooth_l1, float, float, float);
REGISTER_BINARY_ALPHA_OP(smooth_l1, half, float, half);
REGISTER_BINARY_ALPHA_OP(smooth_l1, bfloat, float, bfloat);
