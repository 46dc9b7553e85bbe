#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct sign_functor {
  // NaN is neither above nor below zero and maps to 0, as on CPU.
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(int(x > T(0)) - int(x < T(0)));
  }
};

REGISTER_UNARY_OP(sign, float, float);
REGISTER_UNARY_OP(sign, half, half);
REGISTER_UNARY_OP(sign, bfloat, bfloat);
REGISTER_UNARY_OP(sign, long, long);
REGISTER_UNARY_OP(sign, int, int);
REGISTER_UNARY_OP(sign, short, short);
REGISTER_UNARY_OP(sign, char, char);
REGISTER_UNARY_OP(sign, uchar, uchar);
REGISTER_UNARY_OP(sign, bool, bool);
