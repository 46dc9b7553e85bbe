#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct SoftplusBackwardParams {
  float beta;
  float threshold;
};

struct softplus_backward_functor {
  template <typename T>
  inline T operator()(
      const T grad_output,
      const T self,
      const SoftplusBackwardParams params) {
    const float z = static_cast<float>(self) * params.beta;
    if (z > params.threshold) {
      return grad_output;
    }
    // The sigmoid of z, for any threshold: exp never overflows.
    const float n = precise::exp(-::metal::fabs(z));
    const float sigmoid = (z >= 0 ? 1 : n) / (1 + n);
    return static_cast<T>(static_cast<float>(grad_output) * sigmoid);
  }
};

// exec_binary_kernel_with_params asks for the kernel of operands of two dtypes
// without the input's dtype in its name; a functor of its own keeps these apart
// from the instantiations that REGISTER_BINARY_ALPHA_OP names in full.
struct softplus_backward_cast_functor : softplus_backward_functor {};

#define REGISTER_SOFTPLUS_BACKWARD_OP(DTYPE)                                \
  REGISTER_BINARY_ALPHA_OP(                                                 \
      softplus_backward, DTYPE, SoftplusBackwardParams, DTYPE);             \
  template [[host_name(                                                     \
      "softplus_backward_dense_cast_" #DTYPE "_SoftplusBackwardParams")]]   \
  kernel void ::c10::metal::binary_alpha_dense_cast<                        \
      DTYPE,                                                                \
      SoftplusBackwardParams,                                               \
      softplus_backward_cast_functor>(                                      \
      device DTYPE * out_,                                                  \
      constant void* input,                                                 \
      constant void* other,                                                 \
      constant SoftplusBackwardParams& alpha,                               \
      constant uint4& sizes_types,                                          \
      uint tid);                                                            \
  template [[host_name(                                                     \
      "softplus_backward_strided_cast_" #DTYPE "_SoftplusBackwardParams")]] \
  kernel void ::c10::metal::binary_alpha_strided_cast<                      \
      DTYPE,                                                                \
      SoftplusBackwardParams,                                               \
      softplus_backward_cast_functor>(                                      \
      device void* out,                                                     \
      constant void* input,                                                 \
      constant void* other,                                                 \
      constant SoftplusBackwardParams& alpha,                               \
      constant long* sizes,                                                 \
      constant long* output_strides,                                        \
      constant long* input_strides,                                         \
      constant long* other_strides,                                         \
      constant uint4& ndim_types,                                           \
      uint tid)

REGISTER_SOFTPLUS_BACKWARD_OP(float);
REGISTER_SOFTPLUS_BACKWARD_OP(half);
REGISTER_SOFTPLUS_BACKWARD_OP(bfloat);
