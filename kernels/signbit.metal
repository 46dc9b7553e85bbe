#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct signbit_functor {
  // Looks at the sign itself, so that -0.0 and NaN answer too.
  template <typename T, enable_if_t<is_scalar_floating_point_v<T>, bool> = true>
  inline bool operator()(const T x) {
    return signbit(static_cast<float>(x));
  }
  template <typename T, enable_if_t<is_scalar_integral_v<T>, bool> = true>
  inline bool operator()(const T x) {
    return x < 0;
  }
};

REGISTER_UNARY_OP(signbit, float, bool);
REGISTER_UNARY_OP(signbit, half, bool);
REGISTER_UNARY_OP(signbit, bfloat, bool);
REGISTER_UNARY_OP(signbit, long, bool);
REGISTER_UNARY_OP(signbit, int, bool);
REGISTER_UNARY_OP(signbit, short, bool);
REGISTER_UNARY_OP(signbit, char, bool);
REGISTER_UNARY_OP(signbit, uchar, bool);
REGISTER_UNARY_OP(signbit, bool, bool);
