#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// Ai(x). The polynomials are Chebyshev fits on their intervals; the largest
// relative error of the fits is 2e-8 (absolute where Ai oscillates).
struct airy_ai_functor {
  template <typename T>
  inline enable_if_t<is_scalar_floating_point_v<T>, T> operator()(const T x) {
    return static_cast<T>(airy_ai(static_cast<float>(x)));
  }
  template <typename T>
  inline enable_if_t<is_scalar_integral_v<T>, float> operator()(const T x) {
    return airy_ai(static_cast<float>(x));
  }

 private:
  template <typename C>
  static inline float horner(const float x, const C c) {
    float sum = c[0];
    for (uint i = 1; i < c.size(); ++i) {
      sum = fma(sum, x, c[i]);
    }
    return sum;
  }

  // 2/3 * x^(3/2) as a sum of two floats: exp and the trigonometric functions
  // below would turn a rounded one into a relative error that grows with it.
  static inline float2 zeta(const float x) {
    const float root = precise::sqrt(x);
    const float root_rest = fma(-root, root, x) / (2 * root);
    const float power = x * root;
    const float power_rest = fma(x, root, -power) + x * root_rest;
    const float high = power * (2.0f / 3);
    const float rest = fma(-1.5f, high, power) / 1.5f;
    return float2(high, rest + power_rest * (2.0f / 3));
  }

  static inline float airy_ai(const float x) {
    // No value at the infinities, as on CPU; below 2^-126 from 26 on.
    if (isinf(x) || isnan(x)) {
      return NAN;
    }
    if (x > 26) {
      return 0;
    }
    if (x > 2) {
      const float2 z = zeta(x);
      const ::metal::array<float, 8> p = {
          -0.016618661f,
          0.0440490418f,
          -0.0547717132f,
          0.0466717219f,
          -0.0367650116f,
          0.0370603714f,
          -0.0694426958f,
          0.999999993f};
      const float decay = precise::exp(-z.x) * (1 - z.y);
      return 0.282094792f * decay * horner(1 / z.x, p) /
          precise::sqrt(precise::sqrt(x));
    }
    if (x > 0) {
      const ::metal::array<float, 10> p = {
          -5.86737066e-6f,
          4.81734768e-5f,
          -0.000106600433f,
          -0.000385089602f,
          0.00318382117f,
          -0.00762568667f,
          -0.0039758753f,
          0.0676462817f,
          -0.159147441f,
          0.135292415f};
      return horner(x - 1, p);
    }
    if (x >= -3) {
      const ::metal::array<float, 13> p = {
          -9.92615937e-7f,
          5.15775809e-7f,
          2.86958474e-5f,
          -9.859892e-5f,
          -0.000218005052f,
          0.00227592902f,
          -0.00346201107f,
          -0.0174182829f,
          0.0692896845f,
          8.01104841e-5f,
          -0.348192437f,
          0.309186907f,
          0.464256578f};
      return horner(x + 1.5f, p);
    }
    const float fourth_root = precise::sqrt(precise::sqrt(-x));
    if (x < -5e7f) {
      // No digit of the phase is right from here on; wrong as on CPU, then.
      const float t = -2 * x * precise::sqrt(-x) / 3 + M_PI_4_F;
      return 0.564189584f / fourth_root * precise::sin(t);
    }
    // cos(z - pi/4) * f + sin(z - pi/4) * g / z, over sqrt(pi) * |x|^(1/4)
    const float2 z = zeta(-x);
    const float u = 1 / z.x;
    const ::metal::array<float, 6> f = {
        -3.09259526f,
        1.14464874f,
        -0.23766699f,
        0.0567989132f,
        -0.0371279898f,
        0.999999994f};
    const ::metal::array<float, 6> g = {
        -10.3826961f,
        3.61152469f,
        -0.650429187f,
        0.112635777f,
        -0.0379710149f,
        0.0694444195f};
    const float2 high(precise::cos(z.x), precise::sin(z.x));
    const float2 low(precise::cos(z.y), precise::sin(z.y));
    const float cos_z = high.x * low.x - high.y * low.y;
    const float sin_z = high.y * low.x + high.x * low.y;
    const float even = (cos_z + sin_z) * horner(u * u, f);
    const float odd = (sin_z - cos_z) * horner(u * u, g) * u;
    // 1 / sqrt(2 * pi): both sums above carry a factor sqrt(2).
    return 0.398942280f * (even + odd) / fourth_root;
  }
};

REGISTER_UNARY_OP(airy_ai, float, float);
REGISTER_UNARY_OP(airy_ai, half, half);
REGISTER_UNARY_OP(airy_ai, bfloat, bfloat);
REGISTER_UNARY_OP(airy_ai, long, float);
REGISTER_UNARY_OP(airy_ai, int, float);
REGISTER_UNARY_OP(airy_ai, short, float);
REGISTER_UNARY_OP(airy_ai, char, float);
REGISTER_UNARY_OP(airy_ai, uchar, float);
REGISTER_UNARY_OP(airy_ai, bool, float);
