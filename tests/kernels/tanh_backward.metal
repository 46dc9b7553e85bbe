// FAULT 1: the conjugate is missing. FAULT 2: half arithmetic.
#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct tanh_backward_functor {
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(const T grad, const T out) {
#if FAULT == 2
    return grad * (T(1) - out * out);
#else
    const float o = static_cast<float>(out);
    return static_cast<T>(static_cast<float>(grad) * (1.0f - o * o));
#endif
  }
  template <typename T>
  inline enable_if_t<is_complex_v<T>, T> operator()(const T grad, const T out) {
    const float2 g = static_cast<float2>(grad), o = static_cast<float2>(out);
    const float2 one_minus = float2(1, 0) - c10::metal::mul(o, o);
#if FAULT == 1
    return static_cast<T>(c10::metal::mul(g, one_minus));
#else
    return static_cast<T>(c10::metal::mul(g, float2(one_minus.x, -one_minus.y)));
#endif
  }
};

REGISTER_BINARY_OP(tanh_backward, float, float);
REGISTER_BINARY_OP(tanh_backward, half, half);
REGISTER_BINARY_OP(tanh_backward, bfloat, bfloat);
REGISTER_BINARY_OP(tanh_backward, float2, float2);
REGISTER_BINARY_OP(tanh_backward, half2, half2);
