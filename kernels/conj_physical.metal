#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct conj_physical_functor {
  template <typename T>
  inline T operator()(const T x) {
    return c10::metal::conj(x);
  }
};

REGISTER_UNARY_OP(conj_physical, float, float);
REGISTER_UNARY_OP(conj_physical, half, half);
REGISTER_UNARY_OP(conj_physical, bfloat, bfloat);
REGISTER_UNARY_OP(conj_physical, long, long);
REGISTER_UNARY_OP(conj_physical, int, int);
REGISTER_UNARY_OP(conj_physical, short, short);
REGISTER_UNARY_OP(conj_physical, char, char);
REGISTER_UNARY_OP(conj_physical, uchar, uchar);
REGISTER_UNARY_OP(conj_physical, bool, bool);
REGISTER_UNARY_OP(conj_physical, float2, float2);
REGISTER_UNARY_OP(conj_physical, half2, half2);
