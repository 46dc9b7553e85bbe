#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

template <typename P>
struct AddrParams {
  P beta;
  P alpha;
};

struct addr_functor {
  // P is the type to compute in: float for half and bfloat, float2 for complex,
  // long for integers. With beta 0 self is not looked at, so NaN does not
  // spread.
  template <typename T, typename P>
  inline T operator()(
      const T self,
      const T vec1,
      const T vec2,
      const AddrParams<P> params) {
    const P product = c10::metal::mul(
        P(c10::metal::mul(params.alpha, cast_to<P>(vec1))), cast_to<P>(vec2));
    if (is_zero(params.beta)) {
      return cast_to<T>(product);
    }
    return cast_to<T>(
        P(c10::metal::mul(params.beta, cast_to<P>(self))) + product);
  }
  inline bool operator()(
      const bool self,
      const bool vec1,
      const bool vec2,
      const AddrParams<bool> params) {
    return (params.beta && self) || (params.alpha && vec1 && vec2);
  }

 private:
  template <typename P, enable_if_t<!is_complex_v<P>, bool> = true>
  static inline bool is_zero(const P x) {
    return x == 0;
  }
  template <typename P, enable_if_t<is_complex_v<P>, bool> = true>
  static inline bool is_zero(const P x) {
    return x.x == 0 && x.y == 0;
  }
};

template <typename T, typename P>
kernel void addr_dense(
    device T* output [[buffer(0)]],
    constant T* self [[buffer(1)]],
    constant T* vec1 [[buffer(2)]],
    constant T* vec2 [[buffer(3)]],
    constant AddrParams<P>& params [[buffer(4)]],
    uint index [[thread_position_in_grid]]) {
  output[index] = addr_functor()(self[index], vec1[index], vec2[index], params);
}

template <typename T, typename P>
kernel void addr_strided(
    device void* output [[buffer(0)]],
    constant void* self [[buffer(1)]],
    constant void* vec1 [[buffer(2)]],
    constant void* vec2 [[buffer(3)]],
    constant AddrParams<P>& params [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* output_strides [[buffer(6)]],
    constant long* self_strides [[buffer(7)]],
    constant long* vec1_strides [[buffer(8)]],
    constant long* vec2_strides [[buffer(9)]],
    constant uint& ndim [[buffer(10)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const auto a =
      val_at_offs<T>(self, offset_from_coord(pos, self_strides, ndim));
  const auto b =
      val_at_offs<T>(vec1, offset_from_coord(pos, vec1_strides, ndim));
  const auto c =
      val_at_offs<T>(vec2, offset_from_coord(pos, vec2_strides, ndim));
  ref_at_offs<T>(output, offset_from_coord(pos, output_strides, ndim)) =
      addr_functor()(a, b, c, params);
}

// Operands of any dtype, the output's first in types.
template <typename T, typename P>
kernel void addr_strided_cast(
    device void* output [[buffer(0)]],
    constant void* self [[buffer(1)]],
    constant void* vec1 [[buffer(2)]],
    constant void* vec2 [[buffer(3)]],
    constant AddrParams<P>& params [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* output_strides [[buffer(6)]],
    constant long* self_strides [[buffer(7)]],
    constant long* vec1_strides [[buffer(8)]],
    constant long* vec2_strides [[buffer(9)]],
    constant uint& ndim [[buffer(10)]],
    constant uint4& types [[buffer(11)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const auto a = val_at_offs<T>(
      self,
      offset_from_coord(pos, self_strides, ndim),
      static_cast<ScalarType>(types.y));
  const auto b = val_at_offs<T>(
      vec1,
      offset_from_coord(pos, vec1_strides, ndim),
      static_cast<ScalarType>(types.z));
  const auto c = val_at_offs<T>(
      vec2,
      offset_from_coord(pos, vec2_strides, ndim),
      static_cast<ScalarType>(types.w));
  store_at_offs<T>(
      output,
      offset_from_coord(pos, output_strides, ndim),
      static_cast<ScalarType>(types.x),
      addr_functor()(a, b, c, params));
}

#define REGISTER_ADDR_OP(DTYPE, OPMATH)                                     \
  template [[host_name("addr_dense_" #DTYPE)]]                              \
  [[kernel]] decltype(addr_dense<DTYPE, OPMATH>) addr_dense<DTYPE, OPMATH>; \
  template [[host_name("addr_strided_" #DTYPE)]]                            \
  [[kernel]] decltype(addr_strided<DTYPE, OPMATH>)                          \
      addr_strided<DTYPE, OPMATH>;                                          \
  template [[host_name("addr_strided_cast_" #DTYPE)]]                       \
  [[kernel]] decltype(addr_strided_cast<DTYPE, OPMATH>)                     \
      addr_strided_cast<DTYPE, OPMATH>

REGISTER_ADDR_OP(float, float);
REGISTER_ADDR_OP(half, float);
REGISTER_ADDR_OP(bfloat, float);
REGISTER_ADDR_OP(float2, float2);
REGISTER_ADDR_OP(half2, float2);
REGISTER_ADDR_OP(long, long);
REGISTER_ADDR_OP(int, long);
REGISTER_ADDR_OP(short, long);
REGISTER_ADDR_OP(char, long);
REGISTER_ADDR_OP(uchar, long);
REGISTER_ADDR_OP(bool, bool);
