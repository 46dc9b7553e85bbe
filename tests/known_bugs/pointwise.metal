// Functors as they should be, and `X_bug` as they were reported: the numbers are rows of the list of public reports.
#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// 2, 3: clamp with its bounds in either order, and NaN.
struct clamp_functor {
  template <typename T>
  inline T operator()(const T x, const T low, const T high) {
    const T raised = x != x || x > low || low != low ? (low != low ? low : x) : low;
    return raised != raised || raised < high || high != high ? (high != high ? high : raised) : high;
  }
};
struct clamp_order_bug_functor {
  template <typename T>
  inline T operator()(const T x, const T low, const T high) {
    const T lowered = x > high ? high : x;
    return lowered < low ? low : lowered;
  }
};
struct clamp_nan_bug_functor {
  template <typename T>
  inline T operator()(const T x, const T low, const T high) {
    return static_cast<T>(::metal::min(::metal::max(x, low), high));
  }
};
REGISTER_TERNARY_OP(clamp, float, float);
REGISTER_TERNARY_OP(clamp_order_bug, float, float);
REGISTER_TERNARY_OP(clamp_nan_bug, float, float);

// 7: minimum drops NaN.
struct minimum_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return (a != a || a < b) ? a : b;
  }
};
struct minimum_bug_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return ::metal::min(a, b);
  }
};
REGISTER_BINARY_OP(minimum, float, float);
REGISTER_BINARY_OP(minimum_bug, float, float);

// 10, 11: NaN through a comparison.
struct relu_functor {
  template <typename T>
  inline T operator()(const T x) {
    return x < T(0) ? T(0) : x;
  }
};
struct relu_bug_functor {
  template <typename T>
  inline T operator()(const T x) {
    return x > T(0) ? x : T(0);
  }
};
REGISTER_UNARY_OP(relu, float, float);
REGISTER_UNARY_OP(relu_bug, float, float);

struct softshrink_functor {
  template <typename T>
  inline T operator()(const T x, const T lambda) {
    return x >= -lambda && x <= lambda ? T(0) : (x > lambda ? x - lambda : x + lambda);
  }
};
struct softshrink_bug_functor {
  template <typename T>
  inline T operator()(const T x, const T lambda) {
    return x > lambda ? x - lambda : (x < -lambda ? x + lambda : T(0));
  }
};
REGISTER_UNARY_ALPHA_OP(softshrink, float, float, float);
REGISTER_UNARY_ALPHA_OP(softshrink_bug, float, float, float);

// 18, 33: gelu at infinity, and its tanh form where the fast function overflows.
struct gelu_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float v = static_cast<float>(x);
    return static_cast<T>(isinf(v) ? (v > 0 ? v : -0.0f) : 0.5f * v * (1.0f + c10::metal::erf(v * M_SQRT1_2_F)));
  }
};
struct gelu_bug_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float v = static_cast<float>(x);
    return static_cast<T>(0.5f * v * (1.0f + c10::metal::erf(v * M_SQRT1_2_F)));
  }
};
REGISTER_UNARY_OP(gelu, float, float);
REGISTER_UNARY_OP(gelu_bug, float, float);

struct gelu_tanh_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float v = static_cast<float>(x);
    const float inner = M_SQRT2_F * M_2_SQRTPI_F * 0.5f * (v + 0.044715f * v * v * v);
    return static_cast<T>(isinf(v) ? (v > 0 ? v : -0.0f) : 0.5f * v * (1.0f + precise::tanh(inner)));
  }
};
struct gelu_tanh_bug_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float v = static_cast<float>(x);
    const float inner = M_SQRT2_F * M_2_SQRTPI_F * 0.5f * (v + 0.044715f * v * v * v);
    return static_cast<T>(0.5f * v * (1.0f + fast::tanh(inner)));
  }
};
REGISTER_UNARY_OP(gelu_tanh, bfloat, bfloat);
REGISTER_UNARY_OP(gelu_tanh_bug, bfloat, bfloat);

// 19: lerp with one formula, where infinity minus infinity appears.
struct lerp_functor {
  template <typename T>
  inline T operator()(const T a, const T b, const T weight) {
    return ::metal::fabs(weight) < T(0.5) ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
  }
};
struct lerp_bug_functor {
  template <typename T>
  inline T operator()(const T a, const T b, const T weight) {
    return a + weight * (b - a);
  }
};
REGISTER_BINARY_ALPHA_OP(lerp, float, float, float);
REGISTER_BINARY_ALPHA_OP(lerp_bug, float, float, float);

// 21: a complex power of zero.
struct pow_functor {
  template <typename T>
  inline enable_if_t<is_complex_v<T>, T> operator()(const T a, const T b) {
    if (a.x == 0 && a.y == 0) {
      return b.x == 0 && b.y == 0 ? T(1, 0) : (b.x > 0 ? T(0, 0) : T(NAN, NAN));
    }
    return c10::metal::pow(a, b);
  }
  template <typename T>
  inline enable_if_t<!is_complex_v<T>, T> operator()(const T a, const T b) {
    return static_cast<T>(precise::pow(static_cast<float>(a), static_cast<float>(b)));
  }
};
struct pow_bug_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    const float log_r = precise::log(precise::sqrt(a.x * a.x + a.y * a.y)), theta = precise::atan2(a.y, a.x);
    const float r = precise::exp(b.x * log_r - b.y * theta), phi = b.x * theta + b.y * log_r;
    return T(r * precise::cos(phi), r * precise::sin(phi));
  }
};
// 27: any exponent that truncates to two is taken for a square.
struct pow_square_bug_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<int>(b) == 2 ? a * a : precise::pow(a, b);
  }
};
REGISTER_BINARY_OP(pow, float2, float2);
REGISTER_BINARY_OP(pow, float, float);
REGISTER_BINARY_OP(pow_bug, float2, float2);
REGISTER_BINARY_OP(pow_square_bug, float, float);

// 25: integers through float.
struct remainder_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    if (b == T(0) || b == T(-1)) {
      return T(0);
    }
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
struct remainder_bug_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    const float x = static_cast<float>(a), y = static_cast<float>(b);
    return static_cast<T>(x - y * ::metal::floor(x / y));
  }
};
REGISTER_BINARY_OP(remainder, long, long);
REGISTER_BINARY_OP(remainder_bug, long, long);

// 34: the tail of erfc as one minus erf.
struct erfc_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float v = static_cast<float>(x);
    return static_cast<T>(v < 0 ? 2.0f - tail(-v) : tail(v));
  }

 private:
  static inline float tail(const float v) {
    return v < 0.5f ? 1.0f - c10::metal::erf(v) : (isinf(v) ? 0.0f : precise::exp(-v * v) * c10::metal::erfcx(v));
  }
};
struct erfc_bug_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(1.0f - c10::metal::erf(static_cast<float>(x)));
  }
};
REGISTER_UNARY_OP(erfc, float, float);
REGISTER_UNARY_OP(erfc_bug, float, float);

// 65: an unsigned value shifted as a signed one.
struct bitwise_right_shift_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    constexpr T bits = 8 * sizeof(T);
    return b < T(0) || b >= bits ? (a < T(0) ? T(-1) : T(0)) : static_cast<T>(a >> b);
  }
};
struct bitwise_right_shift_bug_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(static_cast<char>(a) >> b);
  }
};
REGISTER_BINARY_OP(bitwise_right_shift, uchar, uchar);
REGISTER_BINARY_OP(bitwise_right_shift_bug, uchar, uchar);

// 69: the sign of a number is not read.
struct copysign_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(::metal::copysign(static_cast<float>(a), static_cast<float>(b)));
  }
};
struct copysign_bug_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(::metal::fabs(static_cast<float>(a)));
  }
};
REGISTER_BINARY_OP(copysign, float, float);
REGISTER_BINARY_OP(copysign_bug, float, float);

// 67, 75, 74: kernels for what operands of several dtypes ask.
struct fmax_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return ::metal::fmax(a, b);
  }
};
REGISTER_BINARY_OP(fmax, float, float);

// 89: a backward operator on an expanded gradient.
struct leaky_relu_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x, const T slope) {
    return x > T(0) ? grad : grad * slope;
  }
};
REGISTER_BINARY_ALPHA_OP(leaky_relu_backward, float, float, float);

// 111: a float literal does not convert to bfloat by itself.
struct half_of_functor {
  template <typename T>
  inline T operator()(const T x) {
    return x * T(0.5);
  }
};
REGISTER_UNARY_OP(half_of, bfloat, bfloat);

// 41, 43, 49, 58: layouts of the output; 57: a scalar off a 4-byte boundary.
struct neg_functor {
  template <typename T>
  inline T operator()(const T x) {
    return -x;
  }
};
REGISTER_UNARY_OP(neg, float, float);
REGISTER_UNARY_OP(neg, long, long);
struct bitwise_and_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return a & b;
  }
};
REGISTER_BINARY_OP(bitwise_and, uchar, uchar);
struct isfinite_functor {
  template <typename T>
  inline bool operator()(const T x) {
    return ::metal::isfinite(x);
  }
};
REGISTER_UNARY_OP(isfinite, float, bool);
