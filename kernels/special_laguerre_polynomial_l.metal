#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct laguerre_polynomial_l_functor {
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(
      const T x,
      const T n) {
    return static_cast<T>(
        laguerre(static_cast<float>(x), static_cast<long>(n)));
  }
  template <typename T>
  inline enable_if_t<is_scalar_integral_v<T>, float> operator()(
      const T x,
      const T n) {
    return laguerre(static_cast<float>(x), static_cast<long>(n));
  }

 private:
  // (k + 1) L[k + 1] = (2k + 1 - x) L[k] - k L[k - 1]
  // fma keeps a difference in range whose terms are not.
  static inline float laguerre(const float x, const long n) {
    if (n < 0) {
      return 0;
    }
    if (n == 0 || x == 0) {
      return 1;
    }
    float previous = 1;
    float current = 1 - x;
    for (long k = 1; k < n && !isnan(current); ++k) {
      const float next =
          fma(k + k + (1 - x), current, -(k * previous)) / (k + 1);
      previous = current;
      current = next;
    }
    return current;
  }
};

REGISTER_BINARY_OP(laguerre_polynomial_l, float, float);
REGISTER_BINARY_OP(laguerre_polynomial_l, half, half);
REGISTER_BINARY_OP(laguerre_polynomial_l, bfloat, bfloat);
REGISTER_BINARY_OP(laguerre_polynomial_l, long, float);
REGISTER_BINARY_OP(laguerre_polynomial_l, int, float);
REGISTER_BINARY_OP(laguerre_polynomial_l, short, float);
REGISTER_BINARY_OP(laguerre_polynomial_l, char, float);
REGISTER_BINARY_OP(laguerre_polynomial_l, uchar, float);
REGISTER_BINARY_OP(laguerre_polynomial_l, bool, float);
