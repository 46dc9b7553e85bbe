#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct logical_or_functor {
  template <typename T, enable_if_t<!is_complex_v<T>, bool> = true>
  static inline bool truth(const T x) {
    return x != T(0);
  }
  template <typename T, enable_if_t<is_complex_v<T>, bool> = true>
  static inline bool truth(const T x) {
    return x.x != 0 || x.y != 0;
  }
  template <typename T>
  inline bool operator()(const T a, const T b) {
    return truth(a) || truth(b);
  }
};

REGISTER_BINARY_OP(logical_or, float, bool);
REGISTER_BINARY_OP(logical_or, half, bool);
REGISTER_BINARY_OP(logical_or, bfloat, bool);
REGISTER_BINARY_OP(logical_or, long, bool);
REGISTER_BINARY_OP(logical_or, int, bool);
REGISTER_BINARY_OP(logical_or, short, bool);
REGISTER_BINARY_OP(logical_or, char, bool);
REGISTER_BINARY_OP(logical_or, uchar, bool);
REGISTER_BINARY_OP(logical_or, bool, bool);
REGISTER_BINARY_OP(logical_or, float2, bool);
REGISTER_BINARY_OP(logical_or, half2, bool);

REGISTER_BINARY_CASTOUT_OP(logical_or, float, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, half, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, bfloat, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, long, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, int, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, short, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, char, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, uchar, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, bool, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, float2, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, half2, bool);
