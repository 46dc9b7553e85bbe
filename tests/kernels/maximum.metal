// FAULT 1: loses NaN on the left. FAULT 2: the bare Metal function drops every NaN.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct maximum_functor {
  template <typename T>
  inline enable_if_t<is_floating_point_v<T>, T> operator()(const T a, const T b) {
#if FAULT == 1
    return a > b ? a : b;
#elif FAULT == 2
    return static_cast<T>(::metal::max(static_cast<float>(a), static_cast<float>(b)));
#else
    return (a != a || a > b) ? a : b;
#endif
  }
  template <typename T>
  inline enable_if_t<!is_floating_point_v<T>, T> operator()(const T a, const T b) {
    return a > b ? a : b;
  }
};

REGISTER_BINARY_OP(maximum, float, float);
REGISTER_BINARY_OP(maximum, half, half);
REGISTER_BINARY_OP(maximum, bfloat, bfloat);
REGISTER_BINARY_OP(maximum, long, long);
REGISTER_BINARY_OP(maximum, int, int);
REGISTER_BINARY_OP(maximum, short, short);
REGISTER_BINARY_OP(maximum, char, char);
REGISTER_BINARY_OP(maximum, uchar, uchar);
REGISTER_BINARY_OP(maximum, bool, bool);
