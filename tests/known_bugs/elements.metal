// Kernels that move elements: fills, copies, scatters, selections; `X_bug` as they were reported.
#include <c10/metal/atomic.h>
#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// 43: as many elements as the view has, not as its storage.
kernel void fill_float(
    device float* out [[buffer(0)]], constant float& value [[buffer(1)]], uint index [[thread_position_in_grid]]) {
  out[index] = value;
}
// 58: four bytes at a time need a start that is a multiple of four.
kernel void fill_bool(
    device bool* out [[buffer(0)]], constant bool& value [[buffer(1)]], uint index [[thread_position_in_grid]]) {
  out[index] = value;
}

// 54, 62: add into a view, found by the strides it has.
kernel void scatter_add_float(
    device AtomicType_t<float>* out [[buffer(0)]],
    constant long* index [[buffer(1)]],
    constant float* source [[buffer(2)]],
    uint at [[thread_position_in_grid]]) {
  AtomicType<float>::atomic_add(out, index[at], source[at]);
}

// 70: both parts of a complex number are added.
template <bool real_alone>
kernel void index_add_complex(
    device float2* out [[buffer(0)]],
    constant long* index [[buffer(1)]],
    constant float2* source [[buffer(2)]],
    uint at [[thread_position_in_grid]]) {
  const float2 x = source[at];
  out[index[at]] += real_alone ? float2(x.x, 0) : x;
}
template [[host_name("index_add")]] kernel void index_add_complex<false>(
    device float2*, constant long*, constant float2*, uint);
template [[host_name("index_add_bug")]] kernel void index_add_complex<true>(
    device float2*, constant long*, constant float2*, uint);

// 119: an index beyond the end is not written.
template <bool checks>
kernel void index_copy(
    device float* out [[buffer(0)]],
    constant long* index [[buffer(1)]],
    constant float* source [[buffer(2)]],
    constant uint& size [[buffer(3)]],
    device uint* error [[buffer(4)]],
    uint at [[thread_position_in_grid]]) {
  if (checks && (index[at] < 0 || index[at] >= size)) {
    error[0] = 1;
    return;
  }
  out[index[at]] = source[at];
}
template [[host_name("index_copy")]] kernel void index_copy<true>(
    device float*, constant long*, constant float*, constant uint&, device uint*, uint);
template [[host_name("index_copy_bug")]] kernel void index_copy<false>(
    device float*, constant long*, constant float*, constant uint&, device uint*, uint);

// 98, 102: rows that start beyond 2^32 bytes.
template <typename I>
kernel void select_row(
    device float* out [[buffer(0)]],
    constant float* source [[buffer(1)]],
    constant long& row [[buffer(2)]],
    constant long& stride [[buffer(3)]],
    uint column [[thread_position_in_grid]]) {
  out[column] = source[static_cast<I>(row) * static_cast<I>(stride) + column];
}
template [[host_name("select_row")]] kernel void select_row<long>(
    device float*, constant float*, constant long&, constant long&, uint);
template [[host_name("select_row_bug")]] kernel void select_row<uint>(
    device float*, constant float*, constant long&, constant long&, uint);

// 101: the product of two strides needs 64 bits.
template <typename I>
kernel void block_start(
    device long* out [[buffer(0)]], constant uint2& sizes [[buffer(1)]], uint index [[thread_position_in_grid]]) {
  out[index] = static_cast<long>(static_cast<I>(sizes.x) * static_cast<I>(sizes.y));
}
template [[host_name("block_start")]] kernel void block_start<ulong>(device long*, constant uint2&, uint);
template [[host_name("block_start_bug")]] kernel void block_start<uint>(device long*, constant uint2&, uint);

// 45: a step of an optimizer on a parameter with strides.
kernel void sign_step(
    device float* param [[buffer(0)]],
    constant float* grad [[buffer(1)]],
    constant long* strides [[buffer(2)]],
    constant float& step [[buffer(3)]],
    uint index [[thread_position_in_grid]]) {
  param[index * strides[0]] -= step * ::metal::sign(grad[index * strides[1]]);
}

// 46: a real result of complex numbers, one per element.
template <bool pairs>
kernel void complex_length(
    device float* out [[buffer(0)]], constant float2* in [[buffer(1)]], uint index [[thread_position_in_grid]]) {
  out[pairs ? 2 * index : index] = precise::sqrt(in[index].x * in[index].x + in[index].y * in[index].y);
}
template [[host_name("complex_length")]] kernel void complex_length<false>(device float*, constant float2*, uint);
template [[host_name("complex_length_bug")]] kernel void complex_length<true>(device float*, constant float2*, uint);

// 50: a condition read by its strides.
kernel void where_long(
    device long* out [[buffer(0)]],
    constant bool* condition [[buffer(1)]],
    constant long* in [[buffer(2)]],
    constant long* strides [[buffer(3)]],
    constant uint& columns [[buffer(4)]],
    uint index [[thread_position_in_grid]]) {
  const uint row = index / columns, column = index % columns;
  out[index] = condition[row * strides[0] + column * strides[1]] ? in[index] : 0;
}

// 86: a linear space of integers.
kernel void linspace_int(
    device int* out [[buffer(0)]],
    constant float& start [[buffer(1)]],
    constant float& step [[buffer(2)]],
    uint index [[thread_position_in_grid]]) {
  out[index] = static_cast<int>(start + step * index);
}
