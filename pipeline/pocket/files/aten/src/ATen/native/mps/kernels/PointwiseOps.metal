#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;

// From the nearer end, so that a weight of one gives `end` exactly.
struct lerp_functor {
  template <typename T>
  inline T operator()(const T start, const T end, const T weight) {
    const auto span = end - start;
    return static_cast<T>(
        abs(weight) < T(.5) ? start + weight * span
                            : end - span * (T(1) - weight));
  }
};

#define REGISTER_OPMATH_FLOAT_TERNARY_OP(NAME)    \
  REGISTER_OPMATH_TERNARY_OP(NAME, float, float); \
  REGISTER_OPMATH_TERNARY_OP(NAME, half, half);   \
  REGISTER_OPMATH_TERNARY_OP(NAME, bfloat, bfloat)

REGISTER_OPMATH_FLOAT_TERNARY_OP(lerp);
