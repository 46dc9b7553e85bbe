// Right as it stands; the faults are in copies of the header.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct bitwise_left_shift_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    constexpr T bits = 8 * sizeof(T);
    if (b < T(0) || b >= bits) {
      return T(0);
    }
    return static_cast<T>(a << b);
  }
};

REGISTER_BINARY_OP(bitwise_left_shift, long, long);
REGISTER_BINARY_OP(bitwise_left_shift, int, int);
REGISTER_BINARY_OP(bitwise_left_shift, short, short);
REGISTER_BINARY_OP(bitwise_left_shift, char, char);
REGISTER_BINARY_OP(bitwise_left_shift, uchar, uchar);
