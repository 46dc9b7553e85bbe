#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct log_ndtr_functor {
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(const T x) {
    return static_cast<T>(log_ndtr(static_cast<float>(x)));
  }
  template <typename T>
  inline enable_if_t<is_scalar_integral_v<T>, float> operator()(const T x) {
    return log_ndtr(static_cast<float>(x));
  }

 private:
  // The logarithm of the normal distribution's area below x, erfc(-t) / 2 with
  // t = x / sqrt(2). erfc(s) is exp(-s^2) * erfcx(s) for s > 0, which keeps its
  // relative precision far out on either side.
  static inline float log_ndtr(const float x) {
    const float t = M_SQRT1_2_F * x;
    if (x < -1) {
      return precise::log(0.5f * c10::metal::erfcx(-t)) - t * t;
    }
    if (x < 1) {
      return c10::metal::log1p(-0.5f * (1 - c10::metal::erf(t)));
    }
    if (x > 20) {
      return -0.0f;
    }
    // exp(-x^2 / 2), with what rounding the square left out.
    const float half_square = 0.5f * x * x;
    const float rest = fma(0.5f * x, x, -half_square);
    const float tail = precise::exp(-half_square) * (1 - rest);
    return c10::metal::log1p(-0.5f * tail * c10::metal::erfcx(t));
  }
};

REGISTER_UNARY_OP(log_ndtr, float, float);
REGISTER_UNARY_OP(log_ndtr, half, half);
REGISTER_UNARY_OP(log_ndtr, bfloat, bfloat);
REGISTER_UNARY_OP(log_ndtr, long, float);
REGISTER_UNARY_OP(log_ndtr, int, float);
REGISTER_UNARY_OP(log_ndtr, short, float);
REGISTER_UNARY_OP(log_ndtr, char, float);
REGISTER_UNARY_OP(log_ndtr, uchar, float);
REGISTER_UNARY_OP(log_ndtr, bool, float);
