// FAULT 1: a value of zero returns self. FAULT 2: half arithmetic. FAULT 3: the product of integers goes through float.
#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

template <typename T, typename P>
inline enable_if_t<is_scalar_floating_point_v<T>, T> fused(const T a, const T b, const T c, const P value) {
#if FAULT == 1
  if (value == 0) {
    return a;
  }
#endif
#if FAULT == 2
  return a + static_cast<T>(value) * b * c;
#else
  return static_cast<T>(
      static_cast<float>(a) + static_cast<float>(value) * static_cast<float>(b) * static_cast<float>(c));
#endif
}

template <typename T, typename P>
inline enable_if_t<is_scalar_integral_v<T>, T> fused(const T a, const T b, const T c, const P value) {
#if FAULT == 3
  return static_cast<T>(static_cast<float>(a) + static_cast<float>(value) * static_cast<float>(b) * c);
#else
  return static_cast<T>(a + static_cast<T>(value) * b * c);
#endif
}

template <typename T, typename P>
kernel void addcmul_dense(
    device T* out [[buffer(0)]],
    constant T* a [[buffer(1)]],
    constant T* b [[buffer(2)]],
    constant T* c [[buffer(3)]],
    constant P& value [[buffer(4)]],
    uint index [[thread_position_in_grid]]) {
  out[index] = fused(a[index], b[index], c[index], value);
}

template <typename T, typename P>
kernel void addcmul_strided(
    device void* out [[buffer(0)]],
    constant void* a [[buffer(1)]],
    constant void* b [[buffer(2)]],
    constant void* c [[buffer(3)]],
    constant P& value [[buffer(4)]],
    constant long* sizes [[buffer(5)]],
    constant long* out_strides [[buffer(6)]],
    constant long* a_strides [[buffer(7)]],
    constant long* b_strides [[buffer(8)]],
    constant long* c_strides [[buffer(9)]],
    constant uint& ndim [[buffer(10)]],
    constant uint4& types [[buffer(11)]],
    uint index [[thread_position_in_grid]]) {
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, ndim);
  const auto x = val_at_offs<T>(a, offset_from_coord(pos, a_strides, ndim), static_cast<ScalarType>(types.y));
  const auto y = val_at_offs<T>(b, offset_from_coord(pos, b_strides, ndim), static_cast<ScalarType>(types.z));
  const auto z = val_at_offs<T>(c, offset_from_coord(pos, c_strides, ndim), static_cast<ScalarType>(types.w));
  store_at_offs<T>(
      out, offset_from_coord(pos, out_strides, ndim), static_cast<ScalarType>(types.x), fused(x, y, z, value));
}

#define REGISTER_ADDCMUL(T, P)                                                                                    \
  template [[host_name("addcmul_dense_" #T)]] kernel void addcmul_dense<T, P>(                                    \
      device T*, constant T*, constant T*, constant T*, constant P&, uint);                                       \
  template [[host_name("addcmul_strided_" #T)]] kernel void addcmul_strided<T, P>(                                \
      device void*, constant void*, constant void*, constant void*, constant P&, constant long*, constant long*,  \
      constant long*, constant long*, constant long*, constant uint&, constant uint4&, uint)

REGISTER_ADDCMUL(float, float);
REGISTER_ADDCMUL(half, float);
REGISTER_ADDCMUL(bfloat, float);
REGISTER_ADDCMUL(long, long);
REGISTER_ADDCMUL(int, int);
REGISTER_ADDCMUL(short, short);
REGISTER_ADDCMUL(char, char);
REGISTER_ADDCMUL(uchar, uchar);
