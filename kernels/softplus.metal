#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct SoftplusParams {
  float beta;
  float threshold;
};

struct softplus_functor {
  template <typename T>
  inline T operator()(const T self, const SoftplusParams params) {
    const float x = static_cast<float>(self);
    const float z = x * params.beta;
    if (z > params.threshold) {
      return self;
    }
    // log1p(exp(z)), for any threshold: exp never overflows.
    const float log = ::metal::fmax(z, 0.0f) +
        c10::metal::log1p(precise::exp(-::metal::fabs(z)));
    return static_cast<T>(log / params.beta);
  }
};

REGISTER_UNARY_ALPHA_OP(softplus, float, SoftplusParams, float);
REGISTER_UNARY_ALPHA_OP(softplus, half, SoftplusParams, half);
REGISTER_UNARY_ALPHA_OP(softplus, bfloat, SoftplusParams, bfloat);
