#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct HardtanhBackwardParams {
  float min;
  float max;
};

struct hardtanh_backward_functor {
  // NaN lies outside no bound and lets the gradient through.
  template <typename T>
  inline T operator()(
      const T grad_output,
      const T self,
      const HardtanhBackwardParams params) {
    const float x = static_cast<float>(self);
    return x <= params.min || x >= params.max ? T(0) : grad_output;
  }
};

// exec_binary_kernel_with_params asks for the kernel of operands of two dtypes
// without the input's dtype in its name; a functor of its own keeps these apart
// from the instantiations that REGISTER_BINARY_ALPHA_OP names in full.
struct hardtanh_backward_cast_functor : hardtanh_backward_functor {};

#define REGISTER_HARDTANH_BACKWARD_OP(DTYPE)                                \
  REGISTER_BINARY_ALPHA_OP(                                                 \
      hardtanh_backward, DTYPE, HardtanhBackwardParams, DTYPE);             \
  template [[host_name(                                                     \
      "hardtanh_backward_dense_cast_" #DTYPE "_HardtanhBackwardParams")]]   \
  kernel void ::c10::metal::binary_alpha_dense_cast<                        \
      DTYPE,                                                                \
      HardtanhBackwardParams,                                               \
      hardtanh_backward_cast_functor>(                                      \
      device DTYPE * out_,                                                  \
      constant void* input,                                                 \
      constant void* other,                                                 \
      constant HardtanhBackwardParams& alpha,                               \
      constant uint4& sizes_types,                                          \
      uint tid);                                                            \
  template [[host_name(                                                     \
      "hardtanh_backward_strided_cast_" #DTYPE "_HardtanhBackwardParams")]] \
  kernel void ::c10::metal::binary_alpha_strided_cast<                      \
      DTYPE,                                                                \
      HardtanhBackwardParams,                                               \
      hardtanh_backward_cast_functor>(                                      \
      device void* out,                                                     \
      constant void* input,                                                 \
      constant void* other,                                                 \
      constant HardtanhBackwardParams& alpha,                               \
      constant long* sizes,                                                 \
      constant long* output_strides,                                        \
      constant long* input_strides,                                         \
      constant long* other_strides,                                         \
      constant uint4& ndim_types,                                           \
      uint tid)

REGISTER_HARDTANH_BACKWARD_OP(float);
REGISTER_HARDTANH_BACKWARD_OP(half);
REGISTER_HARDTANH_BACKWARD_OP(bfloat);
