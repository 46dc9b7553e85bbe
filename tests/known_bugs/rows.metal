// Reductions, scans and products, one thread or threadgroup per row; `X_bug` as they were reported.
#include <c10/metal/indexing.h>
#include <c10/metal/reduction_utils.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// 1: NaN sorts last whatever its sign. Insertion sort, one thread per row.
template <typename T, bool by_bits>
kernel void sort_row(
    device T* values [[buffer(0)]],
    constant uint& columns [[buffer(1)]],
    uint row [[thread_position_in_grid]]) {
  device T* mine = values + row * columns;
  for (uint end = 1; end < columns; ++end) {
    const T value = mine[end];
    uint at = end;
    while (at > 0 &&
           (by_bits ? as_type<int>(value) < as_type<int>(mine[at - 1]) : c10::metal::less(value, mine[at - 1]))) {
      mine[at] = mine[at - 1];
      --at;
    }
    mine[at] = value;
  }
}
template [[host_name("sort")]] kernel void sort_row<float, false>(device float*, constant uint&, uint);
template [[host_name("sort_bug")]] kernel void sort_row<float, true>(device float*, constant uint&, uint);

// 6, 51: the largest value and where it is; NaN wins.
template <typename T, bool nan_wins>
kernel void max_row(
    device T* value [[buffer(0)]],
    device long* index [[buffer(1)]],
    constant T* in [[buffer(2)]],
    constant long* strides [[buffer(3)]],
    constant uint& columns [[buffer(4)]],
    uint row [[thread_position_in_grid]]) {
  T best = in[row * strides[0]];
  uint where = 0;
  for (uint column = 1; column < columns; ++column) {
    const T x = in[row * strides[0] + column * strides[1]];
    if (x > best || (nan_wins && x != x && best == best)) {
      best = x;
      where = column;
    }
    if (!nan_wins && best != best) {
      best = x;
      where = column;
    }
  }
  value[row] = best;
  index[row] = where;
}
template [[host_name("max_row")]] kernel void max_row<float, true>(
    device float*, device long*, constant float*, constant long*, constant uint&, uint);
template [[host_name("max_row_bug")]] kernel void max_row<float, false>(
    device float*, device long*, constant float*, constant long*, constant uint&, uint);

// 13, 93, 95: beta * input + a @ b; with beta zero the input is not read, and an empty product is written.
template <typename T, int fault>
kernel void addmm(
    device T* out [[buffer(0)]],
    constant T* input [[buffer(1)]],
    constant T* a [[buffer(2)]],
    constant T* b [[buffer(3)]],
    constant uint3& sizes [[buffer(4)]],
    constant float& beta [[buffer(5)]],
    uint2 at [[thread_position_in_grid]]) {
  const uint columns = sizes.y, inner = sizes.z, here = at.y * columns + at.x;
  if (fault == 2 && inner == 0) {
    return;
  }
  T sum = 0;
  for (uint k = 0; k < inner; ++k) {
    sum += a[at.y * inner + k] * b[k * columns + at.x];
  }
  out[here] = beta == 0 && fault != 1 ? sum : T(beta) * input[here] + sum;
}
template [[host_name("addmm")]] kernel void addmm<float, 0>(
    device float*, constant float*, constant float*, constant float*, constant uint3&, constant float&, uint2);
template [[host_name("addmm_beta_bug")]] kernel void addmm<float, 1>(
    device float*, constant float*, constant float*, constant float*, constant uint3&, constant float&, uint2);
template [[host_name("addmm_empty_bug")]] kernel void addmm<float, 2>(
    device float*, constant float*, constant float*, constant float*, constant uint3&, constant float&, uint2);

// 14: the row maximum of a softmax with NaN in it.
template <bool bare>
kernel void softmax_row(
    device float* out [[buffer(0)]],
    constant float* in [[buffer(1)]],
    constant uint& columns [[buffer(2)]],
    uint row [[thread_position_in_grid]]) {
  float top = -INFINITY, total = 0;
  for (uint column = 0; column < columns; ++column) {
    const float x = in[row * columns + column];
    top = bare ? ::metal::max(top, x) : c10::metal::max(top, x);
  }
  for (uint column = 0; column < columns; ++column) {
    const float x = in[row * columns + column];
    const float e = bare && x != x ? 0.0f : precise::exp(x - top);
    out[row * columns + column] = e;
    total += e;
  }
  for (uint column = 0; column < columns; ++column) {
    out[row * columns + column] /= total;
  }
}
template [[host_name("softmax")]] kernel void softmax_row<false>(device float*, constant float*, constant uint&, uint);
template [[host_name("softmax_bug")]] kernel void softmax_row<true>(
    device float*, constant float*, constant uint&, uint);

// 31: a sum of uint8 wraps.
template <typename T, bool saturate>
kernel void sum_row(
    device T* out [[buffer(0)]],
    constant T* in [[buffer(1)]],
    constant uint& columns [[buffer(2)]],
    uint row [[thread_position_in_grid]]) {
  T total = 0;
  for (uint column = 0; column < columns; ++column) {
    const T x = in[row * columns + column];
    total = saturate ? ::metal::addsat(total, x) : static_cast<T>(total + x);
  }
  out[row] = total;
}
template [[host_name("sum")]] kernel void sum_row<uchar, false>(device uchar*, constant uchar*, constant uint&, uint);
template [[host_name("sum_bug")]] kernel void sum_row<uchar, true>(
    device uchar*, constant uchar*, constant uint&, uint);

// 39: a value just below the first edge belongs to no bin.
template <bool clamps>
kernel void histogram(
    device atomic<int>* counts [[buffer(0)]],
    constant float* in [[buffer(1)]],
    constant float* edges [[buffer(2)]],
    constant uint& bins [[buffer(3)]],
    uint index [[thread_position_in_grid]]) {
  const float x = in[index];
  int bin = -1;
  for (uint edge = 0; edge <= bins; ++edge) {
    bin += x >= edges[edge] ? 1 : 0;
  }
  if (bin == int(bins) && x == edges[bins]) {
    bin = bins - 1;
  }
  if (clamps) {
    bin = bin < 0 ? 0 : bin;
  } else if (bin < 0 || bin >= int(bins)) {
    return;
  }
  atomic_fetch_add_explicit(&counts[bin], 1, memory_order_relaxed);
}
template [[host_name("histogram")]] kernel void histogram<false>(
    device atomic<int>*, constant float*, constant float*, constant uint&, uint);
template [[host_name("histogram_bug")]] kernel void histogram<true>(
    device atomic<int>*, constant float*, constant float*, constant uint&, uint);

// 47: statistics of the rows of a view; bound without its offset they are those of other rows.
kernel void layer_norm(
    device float* out [[buffer(0)]],
    constant float* in [[buffer(1)]],
    constant uint& columns [[buffer(2)]],
    uint row [[thread_position_in_grid]]) {
  float mean = 0, square = 0;
  for (uint column = 0; column < columns; ++column) {
    mean += in[row * columns + column] / columns;
  }
  for (uint column = 0; column < columns; ++column) {
    const float d = in[row * columns + column] - mean;
    square += d * d / columns;
  }
  for (uint column = 0; column < columns; ++column) {
    out[row * columns + column] = (in[row * columns + column] - mean) * precise::rsqrt(square + 1e-5f);
  }
}

// 83: a running maximum with its index.
kernel void cummax_float(
    device float* values [[buffer(0)]],
    device long* indices [[buffer(1)]],
    constant float* in [[buffer(2)]],
    constant uint& columns [[buffer(3)]],
    uint row [[thread_position_in_grid]]) {
  float best = in[row * columns];
  uint where = 0;
  for (uint column = 0; column < columns; ++column) {
    const float x = in[row * columns + column];
    if (x >= best || x != x) {
      best = x;
      where = column;
    }
    values[row * columns + column] = best;
    indices[row * columns + column] = where;
  }
}

// 91: the dot product of nothing is zero.
template <bool waits>
kernel void dot(
    device float* out [[buffer(0)]],
    constant float* a [[buffer(1)]],
    constant float* b [[buffer(2)]],
    constant uint& count [[buffer(3)]],
    uint tid [[thread_position_in_threadgroup]],
    uint size [[threads_per_threadgroup]]) {
  threadgroup float shared[1024];
  float sum = 0;
  for (uint index = tid; index < count; index += size) {
    sum += a[index] * b[index];
  }
  shared[tid] = sum;
  // 118: without this barrier a thread reads what another has not written yet.
  if (waits) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (tid == 0) {
    float total = 0;
    for (uint index = 0; index < size; ++index) {
      total += shared[index];
    }
    out[0] = total;
  }
}
template [[host_name("dot")]] kernel void dot<true>(
    device float*, constant float*, constant float*, constant uint&, uint, uint);
template [[host_name("dot_bug")]] kernel void dot<false>(
    device float*, constant float*, constant float*, constant uint&, uint, uint);

// 109: three unsigned numbers take sixteen bytes.
kernel void third_and_next(
    device uint* out [[buffer(0)]],
    constant uint3* sizes [[buffer(1)]],
    uint index [[thread_position_in_grid]]) {
  out[index] = sizes[index].x;
}
