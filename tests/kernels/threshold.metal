// FAULT 1: NaN becomes the value. FAULT 2: the two scalars are swapped. FAULT 3: strictly below.
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

template <typename T>
struct ThresholdParams {
  T threshold;
  T value;
};
using ThresholdParams_float = ThresholdParams<float>;

struct threshold_functor {
  template <typename T>
  inline T operator()(const T x, const T other, const ThresholdParams_float params) {
#if FAULT == 1
    return static_cast<float>(x) > params.threshold ? other : static_cast<T>(params.value);
#elif FAULT == 2
    return static_cast<float>(x) <= params.value ? static_cast<T>(params.threshold) : other;
#elif FAULT == 3
    return static_cast<float>(x) < params.threshold ? static_cast<T>(params.value) : other;
#else
    return static_cast<float>(x) <= params.threshold ? static_cast<T>(params.value) : other;
#endif
  }
};

REGISTER_BINARY_ALPHA_OP(threshold, float, ThresholdParams_float, float);
REGISTER_BINARY_ALPHA_OP(threshold, half, ThresholdParams_float, half);
REGISTER_BINARY_ALPHA_OP(threshold, bfloat, ThresholdParams_float, bfloat);
