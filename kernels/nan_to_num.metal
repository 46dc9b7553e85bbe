#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct NanToNumParams {
  float nan;
  float posinf;
  float neginf;
};

struct nan_to_num_functor {
  template <typename T, enable_if_t<is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const NanToNumParams params) {
    const float value = static_cast<float>(x);
    return isnan(value)      ? static_cast<T>(params.nan)
        : value == INFINITY  ? static_cast<T>(params.posinf)
        : value == -INFINITY ? static_cast<T>(params.neginf)
                             : x;
  }
  template <typename T, enable_if_t<is_complex_v<T>, bool> = true>
  inline T operator()(const T x, const NanToNumParams params) {
    return T((*this)(x.x, params), (*this)(x.y, params));
  }
};

REGISTER_UNARY_ALPHA_OP(nan_to_num, float, NanToNumParams, float);
REGISTER_UNARY_ALPHA_OP(nan_to_num, half, NanToNumParams, half);
REGISTER_UNARY_ALPHA_OP(nan_to_num, bfloat, NanToNumParams, bfloat);
REGISTER_UNARY_ALPHA_OP(nan_to_num, float2, NanToNumParams, float2);
REGISTER_UNARY_ALPHA_OP(nan_to_num, half2, NanToNumParams, half2);
