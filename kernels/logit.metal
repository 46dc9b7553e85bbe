#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct logit_functor {
  // A negative eps asks for no clamping. NaN fails both comparisons and stays.
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(
      const T x,
      const float eps) {
    return static_cast<T>(logit(static_cast<float>(x), eps));
  }
  template <typename T>
  inline enable_if_t<is_scalar_integral_v<T>, float> operator()(
      const T x,
      const float eps) {
    return logit(static_cast<float>(x), eps);
  }

 private:
  static inline float logit(float x, const float eps) {
    if (eps >= 0) {
      const float hi = 1 - eps;
      x = x < eps ? eps : x > hi ? hi : x;
    }
    return precise::log(x / (1 - x));
  }
};

REGISTER_UNARY_ALPHA_OP(logit, float, float, float);
REGISTER_UNARY_ALPHA_OP(logit, half, float, half);
REGISTER_UNARY_ALPHA_OP(logit, bfloat, float, bfloat);
REGISTER_UNARY_ALPHA_OP(logit, long, float, float);
REGISTER_UNARY_ALPHA_OP(logit, int, float, float);
REGISTER_UNARY_ALPHA_OP(logit, short, float, float);
REGISTER_UNARY_ALPHA_OP(logit, char, float, float);
REGISTER_UNARY_ALPHA_OP(logit, uchar, float, float);
REGISTER_UNARY_ALPHA_OP(logit, bool, float, float);
