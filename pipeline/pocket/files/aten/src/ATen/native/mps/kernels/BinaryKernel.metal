#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;

struct add_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(a + b);
  }
};

struct sub_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(a - b);
  }
};

struct add_alpha_functor {
  template <typename T>
  inline T operator()(const T a, const T b, const T alpha) {
    return static_cast<T>(a + c10::metal::mul(alpha, b));
  }
};

struct sub_alpha_functor {
  template <typename T>
  inline T operator()(const T a, const T b, const T alpha) {
    return static_cast<T>(a - c10::metal::mul(alpha, b));
  }
};

struct mul_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(c10::metal::mul(a, b));
  }
};

// Unlike metal::max and metal::min, a NaN on either side wins.
struct maximum_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return c10::metal::max(a, b);
  }
};

struct minimum_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return c10::metal::min(a, b);
  }
};

struct atan2_functor {
  template <typename T>
  inline enable_if_t<is_floating_point_v<T>, T> operator()(
      const T y,
      const T x) {
    return static_cast<T>(precise::atan2(float(y), float(x)));
  }
  template <typename T>
  inline enable_if_t<!is_floating_point_v<T>, float> operator()(
      const T y,
      const T x) {
    return precise::atan2(float(y), float(x));
  }
};

// Scaled by the larger side, so neither square can overflow or vanish.
struct hypot_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    const float x = abs(float(a));
    const float y = abs(float(b));
    if (isinf(x) || isinf(y)) {
      return static_cast<T>(INFINITY);
    }
    const float big = ::metal::max(x, y);
    if (big == 0 || isnan(x) || isnan(y)) {
      return static_cast<T>(x + y);
    }
    const float ratio = ::metal::min(x, y) / big;
    return static_cast<T>(big * precise::sqrt(1.f + ratio * ratio));
  }
};

struct xlogy_functor {
  template <typename T>
  inline enable_if_t<is_floating_point_v<T>, T> operator()(
      const T a,
      const T b) {
    return static_cast<T>(c10::metal::xlogy(a, b));
  }
  template <typename T>
  inline enable_if_t<is_integral_v<T>, float> operator()(const T a, const T b) {
    return c10::metal::xlogy(float(a), float(b));
  }
};

DEFINE_BINARY_COMPARISON_FUNCTOR(eq, ==);
DEFINE_BINARY_COMPARISON_FUNCTOR(lt, <);

#define REGISTER_INTEGER_BINARY_OP(NAME)  \
  REGISTER_BINARY_OP(NAME, long, long);   \
  REGISTER_BINARY_OP(NAME, int, int);     \
  REGISTER_BINARY_OP(NAME, short, short); \
  REGISTER_BINARY_OP(NAME, uchar, uchar); \
  REGISTER_BINARY_OP(NAME, char, char);   \
  REGISTER_BINARY_OP(NAME, bool, bool)

#define REGISTER_INT2FLOAT_BINARY_OP(NAME) \
  REGISTER_BINARY_OP(NAME, long, float);   \
  REGISTER_BINARY_OP(NAME, int, float);    \
  REGISTER_BINARY_OP(NAME, short, float);  \
  REGISTER_BINARY_OP(NAME, uchar, float);  \
  REGISTER_BINARY_OP(NAME, char, float);   \
  REGISTER_BINARY_OP(NAME, bool, float)

#define REGISTER_FLOAT_BINARY_OP(NAME)    \
  REGISTER_BINARY_OP(NAME, float, float); \
  REGISTER_BINARY_OP(NAME, half, half);   \
  REGISTER_BINARY_OP(NAME, bfloat, bfloat)

#define REGISTER_OPMATH_FLOAT_BINARY_OP(NAME)    \
  REGISTER_OPMATH_BINARY_OP(NAME, float, float); \
  REGISTER_OPMATH_BINARY_OP(NAME, half, half);   \
  REGISTER_OPMATH_BINARY_OP(NAME, bfloat, bfloat)

#define REGISTER_COMPLEX_BINARY_OP(NAME)    \
  REGISTER_BINARY_OP(NAME, float2, float2); \
  REGISTER_BINARY_OP(NAME, half2, half2)

// A comparison is computed on the common dtype and gives bool; castout serves
// any other `out`.
#define REGISTER_COMPARISON_OP_FOR(NAME, DTYPE) \
  REGISTER_BINARY_OP(NAME, DTYPE, bool);        \
  REGISTER_BINARY_CASTOUT_OP(NAME, DTYPE, bool)

#define REGISTER_COMPARISON_OP(NAME)        \
  REGISTER_COMPARISON_OP_FOR(NAME, float);  \
  REGISTER_COMPARISON_OP_FOR(NAME, half);   \
  REGISTER_COMPARISON_OP_FOR(NAME, bfloat); \
  REGISTER_COMPARISON_OP_FOR(NAME, long);   \
  REGISTER_COMPARISON_OP_FOR(NAME, int);    \
  REGISTER_COMPARISON_OP_FOR(NAME, short);  \
  REGISTER_COMPARISON_OP_FOR(NAME, uchar);  \
  REGISTER_COMPARISON_OP_FOR(NAME, char);   \
  REGISTER_COMPARISON_OP_FOR(NAME, bool)

#define REGISTER_ALPHA_BINARY_OP(NAME)                    \
  REGISTER_BINARY_ALPHA_OP(NAME, long, long, long);       \
  REGISTER_BINARY_ALPHA_OP(NAME, int, int, int);          \
  REGISTER_BINARY_ALPHA_OP(NAME, short, short, short);    \
  REGISTER_BINARY_ALPHA_OP(NAME, uchar, uchar, uchar);    \
  REGISTER_BINARY_ALPHA_OP(NAME, char, char, char);       \
  REGISTER_BINARY_ALPHA_OP(NAME, bool, bool, bool);       \
  REGISTER_BINARY_ALPHA_OP(NAME, float, float, float);    \
  REGISTER_BINARY_ALPHA_OP(NAME, half, half, half);       \
  REGISTER_BINARY_ALPHA_OP(NAME, bfloat, bfloat, bfloat); \
  REGISTER_BINARY_ALPHA_OP(NAME, float2, float2, float2); \
  REGISTER_BINARY_ALPHA_OP(NAME, half2, half2, half2)

REGISTER_FLOAT_BINARY_OP(atan2);
REGISTER_INT2FLOAT_BINARY_OP(atan2);
REGISTER_FLOAT_BINARY_OP(hypot);
REGISTER_FLOAT_BINARY_OP(maximum);
REGISTER_INTEGER_BINARY_OP(maximum);
REGISTER_FLOAT_BINARY_OP(minimum);
REGISTER_INTEGER_BINARY_OP(minimum);
REGISTER_OPMATH_FLOAT_BINARY_OP(mul);
REGISTER_INTEGER_BINARY_OP(mul);
REGISTER_COMPLEX_BINARY_OP(mul);
REGISTER_OPMATH_FLOAT_BINARY_OP(xlogy);
REGISTER_INT2FLOAT_BINARY_OP(xlogy);
REGISTER_COMPARISON_OP(eq);
REGISTER_COMPARISON_OP(lt);

REGISTER_OPMATH_FLOAT_BINARY_OP(add);
REGISTER_INTEGER_BINARY_OP(add);
REGISTER_COMPLEX_BINARY_OP(add);
REGISTER_OPMATH_FLOAT_BINARY_OP(sub);
REGISTER_INTEGER_BINARY_OP(sub);
REGISTER_COMPLEX_BINARY_OP(sub);
REGISTER_ALPHA_BINARY_OP(add_alpha);
REGISTER_ALPHA_BINARY_OP(sub_alpha);
