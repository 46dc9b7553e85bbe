#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct sgn_functor {
  // Only complex tensors come here: sgn of a real one is dispatched to sign.
  template <typename T, enable_if_t<is_complex_v<T>, bool> = true>
  inline T operator()(const T x) {
    const auto z = static_cast<float2>(x);
    const auto magnitude =
        c10::metal::hypot(precise::abs(z.x), precise::abs(z.y));
    return magnitude == 0 ? T(0) : static_cast<T>(z / magnitude);
  }
};

REGISTER_UNARY_OP(sgn, float2, float2);
REGISTER_UNARY_OP(sgn, half2, half2);
