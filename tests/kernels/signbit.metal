// FAULT 1: a bool result is declared as uchar, which the cast-out kernel repairs. FAULT 2: the sign of zero is lost.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

#if FAULT == 1
using answer = uchar;
#define ANSWER uchar
#else
using answer = bool;
#define ANSWER bool
#endif

struct signbit_functor {
  template <typename T>
  inline enable_if_t<is_floating_point_v<T>, answer> operator()(const T x) {
#if FAULT == 2
    return static_cast<float>(x) < 0;
#else
    return ::metal::signbit(static_cast<float>(x));
#endif
  }
  template <typename T>
  inline enable_if_t<!is_floating_point_v<T>, answer> operator()(const T x) {
    return x < 0;
  }
};

#define REGISTER_SIGNBIT_(T, ANSWER_) REGISTER_UNARY_OP(signbit, T, ANSWER_)
#define REGISTER_SIGNBIT(T) REGISTER_SIGNBIT_(T, ANSWER)
REGISTER_SIGNBIT(float);
REGISTER_SIGNBIT(half);
REGISTER_SIGNBIT(bfloat);
REGISTER_SIGNBIT(long);
REGISTER_SIGNBIT(int);
REGISTER_SIGNBIT(short);
REGISTER_SIGNBIT(char);
REGISTER_SIGNBIT(uchar);
REGISTER_SIGNBIT_(bool, ANSWER);
