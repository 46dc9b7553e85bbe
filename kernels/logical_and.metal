#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct logical_and_functor {
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
    return truth(a) && truth(b);
  }
};

REGISTER_BINARY_OP(logical_and, float, bool);
REGISTER_BINARY_OP(logical_and, half, bool);
REGISTER_BINARY_OP(logical_and, bfloat, bool);
REGISTER_BINARY_OP(logical_and, long, bool);
REGISTER_BINARY_OP(logical_and, int, bool);
REGISTER_BINARY_OP(logical_and, short, bool);
REGISTER_BINARY_OP(logical_and, char, bool);
REGISTER_BINARY_OP(logical_and, uchar, bool);
REGISTER_BINARY_OP(logical_and, bool, bool);
REGISTER_BINARY_OP(logical_and, float2, bool);
REGISTER_BINARY_OP(logical_and, half2, bool);

REGISTER_BINARY_CASTOUT_OP(logical_and, float, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, half, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, bfloat, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, long, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, int, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, short, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, char, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, uchar, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, bool, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, float2, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, half2, bool);
