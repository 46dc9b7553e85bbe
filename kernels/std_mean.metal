#include <c10/metal/common.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

// Rows of a matrix; strides are counted in elements. A row is cut into parts of
// part_size elements.
struct MomentsParams {
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
  int64_t part_size;
  float divisor;
  bool take_root;
};

// The mean, the sum of squared distances from it, and how many elements both
// are of. Welford's update neither cancels nor forms the sum of the elements,
// which may overflow; equal elements give exactly 0.
template <typename S>
struct Moments {
  S mean = S(0);
  float squares = 0;
  float count = 0;

  inline void add(const S x) {
    count += 1;
    const S distance = x - mean;
    mean += distance / count;
    squares += product(distance, x - mean);
  }

  inline void add(const Moments other) {
    const float total = count + other.count;
    if (other.count == 0) {
      return;
    }
    const S distance = other.mean - mean;
    const float share = other.count / total;
    squares += other.squares + product(distance, distance) * count * share;
    mean += distance * share;
    count = total;
  }

  static inline float product(const float a, const float b) {
    return a * b;
  }
  static inline float product(const float2 a, const float2 b) {
    return a.x * b.x + a.y * b.y;
  }
};

// Adds up what the threads of a simdgroup hold, in the first of them.
template <typename S>
inline Moments<S> simd_moments(Moments<S> moments) {
  for (ushort offset = simdgroup_size / 2; offset > 0; offset /= 2) {
    Moments<S> other;
    other.mean = simd_shuffle_down(moments.mean, offset);
    other.squares = simd_shuffle_down(moments.squares, offset);
    other.count = simd_shuffle_down(moments.count, offset);
    moments.add(other);
  }
  return moments;
}

// Adds up what the threads of a threadgroup hold, in the first of them.
template <typename S>
inline Moments<S> threadgroup_moments(
    Moments<S> moments,
    threadgroup S* means,
    threadgroup float* squares,
    threadgroup float* counts,
    uint thread_index,
    uint threads) {
  moments = simd_moments(moments);
  if (threads <= simdgroup_size) {
    return moments;
  }
  const uint simdgroup = thread_index / simdgroup_size;
  if (thread_index % simdgroup_size == 0) {
    means[simdgroup] = moments.mean;
    squares[simdgroup] = moments.squares;
    counts[simdgroup] = moments.count;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == 0) {
    moments = Moments<S>();
    if (thread_index < threads / simdgroup_size) {
      moments.mean = means[thread_index];
      moments.squares = squares[thread_index];
      moments.count = counts[thread_index];
    }
    moments = simd_moments(moments);
  }
  return moments;
}

template <typename R, typename T, typename S>
inline void write_moments(
    device R* variance,
    device T* mean,
    const Moments<S> moments,
    constant MomentsParams& params) {
  const float value = moments.squares / params.divisor;
  *variance = static_cast<R>(params.take_root ? precise::sqrt(value) : value);
  *mean = static_cast<T>(moments.mean);
}

template <typename S, typename T>
inline Moments<S> moments_of_part(
    constant T* input,
    constant MomentsParams& params,
    uint2 group,
    uint thread_index,
    uint threads) {
  constant T* row = input + group.y * params.row_stride;
  const long begin = group.x * params.part_size;
  const long end = ::metal::min(begin + params.part_size, params.cols);
  Moments<S> moments;
  for (long i = begin + thread_index; i < end; i += threads) {
    moments.add(static_cast<S>(row[i * params.col_stride]));
  }
  return moments;
}

// The variance, or its root, and the mean of each row; one threadgroup per row.
template <typename T, typename R, typename S>
kernel void std_mean(
    device R* variance [[buffer(0)]],
    device T* mean [[buffer(1)]],
    constant T* input [[buffer(2)]],
    constant MomentsParams& params [[buffer(3)]],
    uint2 group [[threadgroup_position_in_grid]],
    uint2 thread_index [[thread_position_in_threadgroup]],
    uint2 threads [[threads_per_threadgroup]]) {
  threadgroup S means[simdgroup_size];
  threadgroup float squares[simdgroup_size];
  threadgroup float counts[simdgroup_size];
  const auto row = threadgroup_moments(
      moments_of_part<S>(input, params, group, thread_index.x, threads.x),
      means,
      squares,
      counts,
      thread_index.x,
      threads.x);
  if (thread_index.x == 0) {
    write_moments(variance + group.y, mean + group.y, row, params);
  }
}

// One threadgroup per part of a row, where few rows would leave most of the GPU
// without work.
template <typename T, typename S>
kernel void std_mean_of_parts(
    device S* part_mean [[buffer(0)]],
    device float* part_squares [[buffer(1)]],
    constant T* input [[buffer(2)]],
    constant MomentsParams& params [[buffer(3)]],
    uint2 group [[threadgroup_position_in_grid]],
    uint2 groups [[threadgroups_per_grid]],
    uint2 thread_index [[thread_position_in_threadgroup]],
    uint2 threads [[threads_per_threadgroup]]) {
  threadgroup S means[simdgroup_size];
  threadgroup float squares[simdgroup_size];
  threadgroup float counts[simdgroup_size];
  const auto part = threadgroup_moments(
      moments_of_part<S>(input, params, group, thread_index.x, threads.x),
      means,
      squares,
      counts,
      thread_index.x,
      threads.x);
  if (thread_index.x == 0) {
    const uint index = group.y * groups.x + group.x;
    part_mean[index] = part.mean;
    part_squares[index] = part.squares;
  }
}

// One simdgroup per row adds up its parts.
template <typename T, typename R, typename S>
kernel void std_mean_of_rows(
    device R* variance [[buffer(0)]],
    device T* mean [[buffer(1)]],
    constant S* part_mean [[buffer(2)]],
    constant float* part_squares [[buffer(3)]],
    constant MomentsParams& params [[buffer(4)]],
    constant uint& parts [[buffer(5)]],
    uint row [[threadgroup_position_in_grid]],
    uint thread_index [[thread_position_in_threadgroup]]) {
  Moments<S> moments;
  for (uint i = thread_index; i < parts; i += simdgroup_size) {
    Moments<S> part;
    part.mean = part_mean[row * parts + i];
    part.squares = part_squares[row * parts + i];
    part.count = static_cast<float>(
        ::metal::min(params.part_size, params.cols - i * params.part_size));
    moments.add(part);
  }
  moments = simd_moments(moments);
  if (thread_index == 0) {
    write_moments(variance + row, mean + row, moments, params);
  }
}

#define REGISTER_STD_MEAN_OP(DTYPE, REAL, SUM)                                \
  template [[host_name("std_mean_" #DTYPE)]]                                  \
  [[kernel]] decltype(std_mean<DTYPE, REAL, SUM>) std_mean<DTYPE, REAL, SUM>; \
  template [[host_name("std_mean_of_parts_" #DTYPE)]]                         \
  [[kernel]] decltype(std_mean_of_parts<DTYPE, SUM>)                          \
      std_mean_of_parts<DTYPE, SUM>;                                          \
  template [[host_name("std_mean_of_rows_" #DTYPE)]]                          \
  [[kernel]] decltype(std_mean_of_rows<DTYPE, REAL, SUM>)                     \
      std_mean_of_rows<DTYPE, REAL, SUM>

REGISTER_STD_MEAN_OP(float, float, float);
REGISTER_STD_MEAN_OP(half, half, float);
REGISTER_STD_MEAN_OP(bfloat, bfloat, float);
REGISTER_STD_MEAN_OP(float2, float, float2);
REGISTER_STD_MEAN_OP(half2, half, float2);
