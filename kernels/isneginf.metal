#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct isneginf_functor {
  template <typename T>
  inline bool operator()(const T x) {
    return static_cast<float>(x) == -INFINITY;
  }
};

REGISTER_UNARY_OP(isneginf, float, bool);
REGISTER_UNARY_OP(isneginf, half, bool);
REGISTER_UNARY_OP(isneginf, bfloat, bool);
