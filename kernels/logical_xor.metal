#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct logical_xor_functor {
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
    return truth(a) != truth(b);
  }
};

REGISTER_BINARY_OP(logical_xor, float, bool);
REGISTER_BINARY_OP(logical_xor, half, bool);
REGISTER_BINARY_OP(logical_xor, bfloat, bool);
REGISTER_BINARY_OP(logical_xor, long, bool);
REGISTER_BINARY_OP(logical_xor, int, bool);
REGISTER_BINARY_OP(logical_xor, short, bool);
REGISTER_BINARY_OP(logical_xor, char, bool);
REGISTER_BINARY_OP(logical_xor, uchar, bool);
REGISTER_BINARY_OP(logical_xor, bool, bool);
REGISTER_BINARY_OP(logical_xor, float2, bool);
REGISTER_BINARY_OP(logical_xor, half2, bool);

REGISTER_BINARY_CASTOUT_OP(logical_xor, float, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, half, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, bfloat, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, long, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, int, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, short, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, char, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, uchar, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, bool, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, float2, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, half2, bool);
