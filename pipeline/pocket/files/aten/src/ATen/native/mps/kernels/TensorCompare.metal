#include <ATen/native/mps/kernels/TensorCompare.h>
#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;

// NaN wins over either bound, and the upper bound over the lower.
template <typename T>
inline T clamp_to(const T x, const T low, const T high) {
  return c10::metal::min(c10::metal::max(x, low), high);
}

struct clamp_functor {
  template <typename T>
  inline T operator()(const T x, const T low, const T high) {
    return clamp_to(x, low, high);
  }
};

struct clamp_scalar_functor {
  template <typename T>
  inline T operator()(const T x, const ClampScalarParams<T> params) {
    return clamp_to(x, params.min, params.max);
  }
};

struct clamp_min_scalar_functor {
  template <typename T>
  inline T operator()(const T x, const T low) {
    return c10::metal::max(x, low);
  }
};

struct clamp_max_scalar_functor {
  template <typename T>
  inline T operator()(const T x, const T high) {
    return c10::metal::min(x, high);
  }
};

#define REGISTER_CLAMP_OPS(DTYPE)                                 \
  typedef ClampScalarParams<DTYPE> ClampScalarParams_##DTYPE;     \
  REGISTER_TERNARY_OP(clamp, DTYPE, DTYPE);                       \
  REGISTER_UNARY_ALPHA_OP(                                        \
      clamp_scalar, DTYPE, ClampScalarParams_##DTYPE, DTYPE);     \
  REGISTER_UNARY_ALPHA_OP(clamp_min_scalar, DTYPE, DTYPE, DTYPE); \
  REGISTER_UNARY_ALPHA_OP(clamp_max_scalar, DTYPE, DTYPE, DTYPE)

REGISTER_CLAMP_OPS(float);
REGISTER_CLAMP_OPS(half);
REGISTER_CLAMP_OPS(bfloat);
REGISTER_CLAMP_OPS(long);
REGISTER_CLAMP_OPS(int);
REGISTER_CLAMP_OPS(short);
REGISTER_CLAMP_OPS(char);
REGISTER_CLAMP_OPS(uchar);
