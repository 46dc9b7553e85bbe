// FAULT 1: a step of float, rounded back to the narrow type.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct nextafter_functor {
  template <typename T, typename U>
  static inline T step(const T x, const T y, const U smallest) {
    if (x != x || y != y) {
      return static_cast<T>(NAN);
    }
    if (x == y) {
      return y;
    }
    if (x == T(0)) {
      return as_type<T>(static_cast<U>(smallest | (y < T(0) ? U(1) << (8 * sizeof(U) - 1) : U(0))));
    }
    const U bits = as_type<U>(x);
    return as_type<T>(static_cast<U>((x < y) == (x > T(0)) ? bits + 1 : bits - 1));
  }
  inline float operator()(const float x, const float y) {
    return step(x, y, 1u);
  }
  inline half operator()(const half x, const half y) {
#if FAULT == 1
    return static_cast<half>(step(static_cast<float>(x), static_cast<float>(y), 1u));
#else
    return step(x, y, ushort(1));
#endif
  }
  inline bfloat operator()(const bfloat x, const bfloat y) {
#if FAULT == 1
    return static_cast<bfloat>(step(static_cast<float>(x), static_cast<float>(y), 1u));
#else
    return step(x, y, ushort(1));
#endif
  }
};

REGISTER_BINARY_OP(nextafter, float, float);
REGISTER_BINARY_OP(nextafter, half, half);
REGISTER_BINARY_OP(nextafter, bfloat, bfloat);
