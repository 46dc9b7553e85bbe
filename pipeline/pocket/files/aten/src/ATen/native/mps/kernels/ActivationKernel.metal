#include <ATen/native/mps/kernels/Activation.h>
#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// NaN passes through.
struct relu_functor {
  template <typename T>
  inline T operator()(const T self) {
    return self < T(0) ? T(0) : self;
  }
};

struct silu_functor {
  template <typename T>
  inline T operator()(const T self) {
    const float x = float(self);
    return T(x / (1.f + precise::exp(-x)));
  }
};

struct silu_backward_functor {
  template <typename T>
  inline T operator()(const T grad_output, const T self) {
    const float x = float(self);
    const float s = 1.f / (1.f + precise::exp(-x));
    return T(float(grad_output) * s * (1.f + x * (1.f - s)));
  }
};

struct hardswish_functor {
  template <typename T>
  inline T operator()(const T self) {
    const float x = float(self);
    const float gate = c10::metal::min(c10::metal::max(x + 3.f, 0.f), 6.f);
    return T(x * gate * (1.f / 6.f));
  }
};

struct leaky_relu_functor {
  template <typename T>
  inline T operator()(const T self, const T negative_slope) {
    return T(self > T(0) ? float(self) : float(self) * float(negative_slope));
  }
};

struct leaky_relu_backward_functor {
  template <typename T>
  inline T operator()(
      const T self,
      const T grad_output,
      const T negative_slope) {
    return T(
        self > T(0) ? float(grad_output)
                    : float(grad_output) * float(negative_slope));
  }
};

struct elu_functor {
  template <typename T>
  inline T operator()(const T self, const ELUParams<T> params) {
    using op_T = opmath_t<T>;
    const op_T x = op_T(self);
    if (x > op_T(0)) {
      return T(x * op_T(params.scale));
    }
    const op_T grown =
        op_T(precise::exp(float(x * op_T(params.input_scale))) - 1.f);
    return T(grown * op_T(params.alpha) * op_T(params.scale));
  }
};

#define REGISTER_FLOAT_UNARY_OP(NAME)    \
  REGISTER_UNARY_OP(NAME, float, float); \
  REGISTER_UNARY_OP(NAME, half, half);   \
  REGISTER_UNARY_OP(NAME, bfloat, bfloat)

REGISTER_FLOAT_UNARY_OP(relu);
REGISTER_UNARY_OP(relu, long, long);
REGISTER_UNARY_OP(relu, int, int);
REGISTER_UNARY_OP(relu, short, short);
REGISTER_UNARY_OP(relu, char, char);
REGISTER_UNARY_OP(relu, uchar, uchar);
REGISTER_FLOAT_UNARY_OP(silu);
REGISTER_FLOAT_UNARY_OP(hardswish);

REGISTER_BINARY_OP(silu_backward, float, float);
REGISTER_BINARY_OP(silu_backward, half, half);
REGISTER_BINARY_OP(silu_backward, bfloat, bfloat);

REGISTER_UNARY_ALPHA_OP(leaky_relu, float, float, float);
REGISTER_UNARY_ALPHA_OP(leaky_relu, half, half, half);
REGISTER_UNARY_ALPHA_OP(leaky_relu, bfloat, bfloat, bfloat);

REGISTER_BINARY_ALPHA_OP(leaky_relu_backward, float, float, float);
REGISTER_BINARY_ALPHA_OP(leaky_relu_backward, half, half, half);
REGISTER_BINARY_ALPHA_OP(leaky_relu_backward, bfloat, bfloat, bfloat);

// A host name cannot hold angle brackets, so the params get a name per dtype.
#define REGISTER_ELU_OP(DTYPE)                \
  typedef ELUParams<DTYPE> ELUParams_##DTYPE; \
  REGISTER_UNARY_ALPHA_OP(elu, DTYPE, ELUParams_##DTYPE, DTYPE)

REGISTER_ELU_OP(float);
REGISTER_ELU_OP(half);
REGISTER_ELU_OP(bfloat);
