#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct addcdiv_functor {
  // P is the type to compute in and that of the factor: float for half and
  // bfloat, float2 for complex.
  template <typename T, typename P>
  inline T
  operator()(const T self, const T tensor1, const T tensor2, const P value) {
    const auto scaled = c10::metal::mul(value, cast_to<P>(tensor1));
    return cast_to<T>(cast_to<P>(self) + quotient(scaled, cast_to<P>(tensor2)));
  }

 private:
  static inline float quotient(const float a, const float b) {
    return a / b;
  }
  // R. L. Smith's division (CACM algorithm 116), as on CPU: the squared modulus
  // of b, which may overflow or vanish, is never formed.
  static inline float2 quotient(const float2 a, const float2 b) {
    const float2 size = ::metal::fabs(b);
    if (size.x == 0 && size.y == 0) {
      return a / size;
    }
    if (size.x >= size.y) {
      const float ratio = b.y / b.x;
      const float scale = b.x + b.y * ratio;
      return float2(a.x + a.y * ratio, a.y - a.x * ratio) / scale;
    }
    const float ratio = b.x / b.y;
    const float scale = b.x * ratio + b.y;
    return float2(a.x * ratio + a.y, a.y * ratio - a.x) / scale;
  }
};

template <typename T, typename P>
kernel void addcdiv_dense(
    device T* output [[buffer(0)]],
    constant T* self [[buffer(1)]],
    constant T* tensor1 [[buffer(2)]],
    constant T* tensor2 [[buffer(3)]],
    constant P& value [[buffer(4)]],
    uint index [[thread_position_in_grid]]) {
  output[index] =
      addcdiv_functor()(self[index], tensor1[index], tensor2[index], value);
}

template <typename T, typename P>
kernel void addcdiv_strided(
    device void* output [[buffer(0)]],
    constant void* self [[buffer(1)]],
    constant void* tensor1 [[buffer(2)]],
    constant void* tensor2 [[buffer(3)]],
    constant P& value [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* output_strides [[buffer(6)]],
    constant long* self_strides [[buffer(7)]],
    constant long* tensor1_strides [[buffer(8)]],
    constant long* tensor2_strides [[buffer(9)]],
    constant uint& ndim [[buffer(10)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const auto a =
      val_at_offs<T>(self, offset_from_coord(pos, self_strides, ndim));
  const auto b =
      val_at_offs<T>(tensor1, offset_from_coord(pos, tensor1_strides, ndim));
  const auto c =
      val_at_offs<T>(tensor2, offset_from_coord(pos, tensor2_strides, ndim));
  ref_at_offs<T>(output, offset_from_coord(pos, output_strides, ndim)) =
      addcdiv_functor()(a, b, c, value);
}

// Operands of any dtype, the output's first in types.
template <typename T, typename P>
kernel void addcdiv_strided_cast(
    device void* output [[buffer(0)]],
    constant void* self [[buffer(1)]],
    constant void* tensor1 [[buffer(2)]],
    constant void* tensor2 [[buffer(3)]],
    constant P& value [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* output_strides [[buffer(6)]],
    constant long* self_strides [[buffer(7)]],
    constant long* tensor1_strides [[buffer(8)]],
    constant long* tensor2_strides [[buffer(9)]],
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
      tensor1,
      offset_from_coord(pos, tensor1_strides, ndim),
      static_cast<ScalarType>(types.z));
  const auto c = val_at_offs<T>(
      tensor2,
      offset_from_coord(pos, tensor2_strides, ndim),
      static_cast<ScalarType>(types.w));
  store_at_offs<T>(
      output,
      offset_from_coord(pos, output_strides, ndim),
      static_cast<ScalarType>(types.x),
      addcdiv_functor()(a, b, c, value));
}

#define REGISTER_ADDCDIV_OP(DTYPE, OPMATH)                 \
  template [[host_name("addcdiv_dense_" #DTYPE)]]          \
  [[kernel]] decltype(addcdiv_dense<DTYPE, OPMATH>)        \
      addcdiv_dense<DTYPE, OPMATH>;                        \
  template [[host_name("addcdiv_strided_" #DTYPE)]]        \
  [[kernel]] decltype(addcdiv_strided<DTYPE, OPMATH>)      \
      addcdiv_strided<DTYPE, OPMATH>;                      \
  template [[host_name("addcdiv_strided_cast_" #DTYPE)]]   \
  [[kernel]] decltype(addcdiv_strided_cast<DTYPE, OPMATH>) \
      addcdiv_strided_cast<DTYPE, OPMATH>

REGISTER_ADDCDIV_OP(float, float);
REGISTER_ADDCDIV_OP(half, float);
REGISTER_ADDCDIV_OP(bfloat, float);
REGISTER_ADDCDIV_OP(float2, float2);
REGISTER_ADDCDIV_OP(half2, float2);
