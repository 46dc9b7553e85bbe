// metal::fast: what the compiler may use in place of the precise functions (MSL specification, 6.5 and 8.4). The
// formulas are the cheap ones that such functions are built from, so that their failures show: fast::tanh is a ratio of
// exponentials and overflows, fast::pow is NaN for a negative base, fast::sin is good near zero only. The last bits are
// not Apple's.
#pragma once
#include "vec.h"

namespace metal {
namespace fast {

using precise::ceil;
using precise::clamp;
using precise::copysign;
using precise::fabs;
using precise::fdim;
using precise::floor;
using precise::fma;
using precise::fmax;
using precise::fmax3;
using precise::fmedian3;
using precise::fmin;
using precise::fmin3;
using precise::fract;
using precise::max;
using precise::max3;
using precise::median3;
using precise::min;
using precise::min3;
using precise::mix;
using precise::nextafter;
using precise::rint;
using precise::round;
using precise::saturate;
using precise::sign;
using precise::smoothstep;
using precise::step;
using precise::trunc;

METAL_CPU_INLINE float exp2(float x) { return precise::exp2(x); }
METAL_CPU_INLINE float log2(float x) { return precise::log2(x); }
METAL_CPU_INLINE float exp(float x) { return exp2(x * 1.44269504f); }
METAL_CPU_INLINE float exp10(float x) { return exp2(x * 3.32192809f); }
METAL_CPU_INLINE float log(float x) { return log2(x) * 0.693147181f; }
METAL_CPU_INLINE float log10(float x) { return log2(x) * 0.301029996f; }
METAL_CPU_INLINE float pow(float x, float y) { return exp2(y * log2(x)); }
METAL_CPU_INLINE float powr(float x, float y) { return exp2(y * log2(x)); }
METAL_CPU_INLINE float divide(float x, float y) { return x * (1.0f / y); }
METAL_CPU_INLINE float rsqrt(float x) { return precise::rsqrt(x); }
METAL_CPU_INLINE float sqrt(float x) { return x == 0 ? x : x * rsqrt(x); }
METAL_CPU_INLINE float fmod(float x, float y) { return x - y * trunc(x / y); }

// Reduced by one rounded multiple of 2 pi: the error grows with the argument.
METAL_CPU_INLINE float one_turn(float x) { return x - 6.28318531f * rint(x * 0.159154943f); }
METAL_CPU_INLINE float sin(float x) { return precise::sin(one_turn(x)); }
METAL_CPU_INLINE float cos(float x) { return precise::cos(one_turn(x)); }
METAL_CPU_INLINE float tan(float x) { return sin(x) / cos(x); }
METAL_CPU_INLINE float sinpi(float x) { return sin(x * 3.14159265f); }
METAL_CPU_INLINE float cospi(float x) { return cos(x * 3.14159265f); }
METAL_CPU_INLINE float tanpi(float x) { return tan(x * 3.14159265f); }

METAL_CPU_INLINE float sinh(float x) { return 0.5f * (exp(x) - exp(-x)); }
METAL_CPU_INLINE float cosh(float x) { return 0.5f * (exp(x) + exp(-x)); }
METAL_CPU_INLINE float tanh(float x) {
  const float e = exp(2.0f * x);
  return (e - 1.0f) / (e + 1.0f);
}
METAL_CPU_INLINE float asinh(float x) { return log(x + sqrt(x * x + 1.0f)); }
METAL_CPU_INLINE float acosh(float x) { return log(x + sqrt(x * x - 1.0f)); }
METAL_CPU_INLINE float atanh(float x) { return 0.5f * log((1.0f + x) / (1.0f - x)); }
METAL_CPU_INLINE float asin(float x) { return precise::asin(x); }
METAL_CPU_INLINE float acos(float x) { return precise::acos(x); }
METAL_CPU_INLINE float atan(float x) { return precise::atan(x); }
METAL_CPU_INLINE float atan2(float y, float x) { return precise::atan2(y, x); }

METAL_CPU_INLINE float sincos(float x, float& cosine) {
  cosine = cos(x);
  return sin(x);
}

}  // namespace fast
}  // namespace metal
