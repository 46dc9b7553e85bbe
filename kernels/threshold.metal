#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

template <typename T>
struct ThresholdParams {
  T threshold;
  T value;
};

// Serves threshold (other is x itself) and threshold_backward (other is the
// gradient, value is 0). NaN is below no threshold and lets `other` through.
struct threshold_functor {
  template <typename T, typename P>
  inline T
  operator()(const T x, const T other, const ThresholdParams<P> params) {
    return static_cast<P>(x) <= params.threshold ? static_cast<T>(params.value)
                                                 : other;
  }
};

// exec_binary_kernel_with_params asks for the kernel of operands of two dtypes
// without the input's dtype in its name; a functor of its own keeps these apart
// from the instantiations that REGISTER_BINARY_ALPHA_OP names in full.
struct threshold_cast_functor : threshold_functor {};

#define REGISTER_THRESHOLD_OP(DTYPE, PARAMS)                                   \
  REGISTER_BINARY_ALPHA_OP(threshold, DTYPE, PARAMS, DTYPE);                   \
  template [[host_name(                                                        \
      "threshold_dense_cast_" #DTYPE "_" #PARAMS)]] kernel void ::c10::metal:: \
      binary_alpha_dense_cast<DTYPE, PARAMS, threshold_cast_functor>(          \
          device DTYPE * out_,                                                 \
          constant void* input,                                                \
          constant void* other,                                                \
          constant PARAMS& alpha,                                              \
          constant uint4& sizes_types,                                         \
          uint tid);                                                           \
  template [[host_name("threshold_strided_cast_" #DTYPE "_" #PARAMS)]]         \
  kernel void ::c10::metal::                                                   \
      binary_alpha_strided_cast<DTYPE, PARAMS, threshold_cast_functor>(        \
          device void* out,                                                    \
          constant void* input,                                                \
          constant void* other,                                                \
          constant PARAMS& alpha,                                              \
          constant long* sizes,                                                \
          constant long* output_strides,                                       \
          constant long* input_strides,                                        \
          constant long* other_strides,                                        \
          constant uint4& ndim_types,                                          \
          uint tid)

typedef ThresholdParams<float> ThresholdParams_float;
typedef ThresholdParams<long> ThresholdParams_long;

REGISTER_THRESHOLD_OP(float, ThresholdParams_float);
REGISTER_THRESHOLD_OP(half, ThresholdParams_float);
REGISTER_THRESHOLD_OP(bfloat, ThresholdParams_float);
REGISTER_THRESHOLD_OP(long, ThresholdParams_long);
REGISTER_THRESHOLD_OP(int, ThresholdParams_long);
REGISTER_THRESHOLD_OP(short, ThresholdParams_long);
REGISTER_THRESHOLD_OP(char, ThresholdParams_long);
REGISTER_THRESHOLD_OP(uchar, ThresholdParams_long);
