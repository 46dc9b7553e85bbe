// FAULT 1: a NaN bound is taken for none.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;

struct clamps_functor {
  template <typename T>
  inline T operator()(const T x, const T low, const T high) {
#if FAULT != 1
    if (low != low || high != high) {
      return low + high;
    }
#endif
    const T above = x < low ? low : x;
    return above > high ? high : above;
  }
};

REGISTER_TERNARY_OP(clamps, float, float);
REGISTER_TERNARY_OP(clamps, half, half);
REGISTER_TERNARY_OP(clamps, bfloat, bfloat);
REGISTER_TERNARY_OP(clamps, long, long);
REGISTER_TERNARY_OP(clamps, int, int);
REGISTER_TERNARY_OP(clamps, short, short);
REGISTER_TERNARY_OP(clamps, char, char);
REGISTER_TERNARY_OP(clamps, uchar, uchar);
