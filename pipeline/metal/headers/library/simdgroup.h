// <metal_simdgroup> and quad-group functions (MSL specification, 6.9.2 and 6.9.3) on simdgroups of 32 threads.
//
// A function waits until every running lane of the simdgroup has called one; lanes that called it at the same place
// take part, the others are inactive. Reductions run in lane order, which Apple does not promise.
#pragma once
#include "execution.h"
#include "integer.h"
#include "math.h"

namespace metal_cpu {

template <class T>
constexpr bool exchanged_bits_fit = sizeof(element_t<T>) <= 4;

template <class T>
METAL_CPU_INLINE constexpr void require_data() {
  static_assert(exchanged_bits_fit<T>, "Metal has no 64-bit simd-group or quad-group functions");
}
template <class T>
METAL_CPU_INLINE constexpr void require_arithmetic() {
  require_data<T>();
  static_assert(!metal::is_same_v<element_t<T>, bfloat>, "simd-group and quad-group arithmetic has no bfloat");
}

// The lanes of an exchange as one thread sees them: all 32 of its simdgroup, or the four of its quad.
template <class T, uint Width>
struct Lanes {
  const Exchange& data;
  uint first, me;
  Site site;

  METAL_CPU_RUNTIME Lanes(const T& value, Operation operation, uint line, Text file)
      : data(exchange(value, operation, line, file)),
        first(current_thread % simd_width / Width * Width),
        me(current_thread % Width),
        site{operation, line, file, 0} {}

  METAL_CPU_RUNTIME bool active(uint lane) const { return data.active >> (first + lane) & 1; }

  METAL_CPU_RUNTIME uint first_active() const { return uint(__builtin_ctz(data.active)); }

  // What a lane handed in. The value of a lane that took no part is undefined; zero, as seen on hardware.
  METAL_CPU_RUNTIME T operator[](uint lane) const {
    T value;
    if (lane < Width && active(lane)) {
      __builtin_memcpy(&value, data.values[first + lane], sizeof(T));
    } else {
      mcpu_note(note_inactive_lane_read, current_thread, site);
      __builtin_memset(&value, 0, sizeof(T));
    }
    return value;
  }

  template <class Combine>
  METAL_CPU_RUNTIME T reduce(Combine combine) const {
    T total{};
    bool some = false;
    for (uint lane = 0; lane < Width; ++lane) {
      if (!active(lane)) continue;
      total = some ? combine(total, (*this)[lane]) : (*this)[lane];
      some = true;
    }
    return total;
  }

  template <class Combine>
  METAL_CPU_RUNTIME T scan(T start, uint end, Combine combine) const {
    for (uint lane = 0; lane < end; ++lane) {
      if (active(lane)) start = combine(start, (*this)[lane]);
    }
    return start;
  }
};

struct Sum {
  template <class T>
  METAL_CPU_INLINE T operator()(T a, T b) const {
    return T(a + b);
  }
};
struct Product {
  template <class T>
  METAL_CPU_INLINE T operator()(T a, T b) const {
    return T(a * b);
  }
};
struct Larger {
  template <class T>
  METAL_CPU_INLINE T operator()(T a, T b) const {
    return metal::max(a, b);
  }
};
struct Smaller {
  template <class T>
  METAL_CPU_INLINE T operator()(T a, T b) const {
    return metal::min(a, b);
  }
};
struct And {
  template <class T>
  METAL_CPU_INLINE T operator()(T a, T b) const {
    return T(a & b);
  }
};
struct Or {
  template <class T>
  METAL_CPU_INLINE T operator()(T a, T b) const {
    return T(a | b);
  }
};
struct Xor {
  template <class T>
  METAL_CPU_INLINE T operator()(T a, T b) const {
    return T(a ^ b);
  }
};

}  // namespace metal_cpu

namespace metal {

// The result of a ballot: one bit per lane.
class simd_vote {
 public:
  using vote_t = ulong;
  simd_vote() = default;
  explicit constexpr simd_vote(vote_t bits) : bits_(bits) {}
  explicit constexpr operator vote_t() const { return bits_; }
  constexpr bool all() const { return bits_ == 0xffffffffu; }
  constexpr bool any() const { return bits_ != 0; }

 private:
  vote_t bits_;
};
using quad_vote = simd_vote;

#define METAL_CPU_SITE uint line = __builtin_LINE(), metal_cpu::Text file = __builtin_FILE()

#define METAL_CPU_REDUCTION(NAME, COMBINE)                                                              \
  template <class T>                                                                                    \
  inline T simd_##NAME(T data, METAL_CPU_SITE) {                                                        \
    metal_cpu::require_arithmetic<T>();                                                                 \
    return metal_cpu::Lanes<T, 32>(data, metal_cpu::op_reduce, line, file).reduce(metal_cpu::COMBINE()); \
  }                                                                                                     \
  template <class T>                                                                                    \
  inline T quad_##NAME(T data, METAL_CPU_SITE) {                                                        \
    metal_cpu::require_arithmetic<T>();                                                                 \
    return metal_cpu::Lanes<T, 4>(data, metal_cpu::op_quad, line, file).reduce(metal_cpu::COMBINE());   \
  }
METAL_CPU_REDUCTION(sum, Sum)
METAL_CPU_REDUCTION(product, Product)
METAL_CPU_REDUCTION(max, Larger)
METAL_CPU_REDUCTION(min, Smaller)
METAL_CPU_REDUCTION(and, And)
METAL_CPU_REDUCTION(or, Or)
METAL_CPU_REDUCTION(xor, Xor)
#undef METAL_CPU_REDUCTION

#define METAL_CPU_SCAN(NAME, START, INCLUDED, COMBINE)                                                  \
  template <class T>                                                                                    \
  inline T simd_prefix_##NAME(T data, METAL_CPU_SITE) {                                                 \
    metal_cpu::require_arithmetic<T>();                                                                 \
    const metal_cpu::Lanes<T, 32> lanes(data, metal_cpu::op_scan, line, file);                          \
    return lanes.scan(T(START), lanes.me + INCLUDED, metal_cpu::COMBINE());                             \
  }                                                                                                     \
  template <class T>                                                                                    \
  inline T quad_prefix_##NAME(T data, METAL_CPU_SITE) {                                                 \
    metal_cpu::require_arithmetic<T>();                                                                 \
    const metal_cpu::Lanes<T, 4> lanes(data, metal_cpu::op_quad, line, file);                           \
    return lanes.scan(T(START), lanes.me + INCLUDED, metal_cpu::COMBINE());                             \
  }
METAL_CPU_SCAN(exclusive_sum, 0, 0, Sum)
METAL_CPU_SCAN(inclusive_sum, 0, 1, Sum)
METAL_CPU_SCAN(exclusive_product, 1, 0, Product)
METAL_CPU_SCAN(inclusive_product, 1, 1, Product)
#undef METAL_CPU_SCAN

// Shuffles by the lane they read from. Past the end, down and up keep the caller's value.
#define METAL_CPU_SHUFFLE(NAME, PARAMETER, RESULT)                                 \
  template <class T>                                                               \
  inline T simd_##NAME(T data, ushort PARAMETER, METAL_CPU_SITE) {                 \
    metal_cpu::require_data<T>();                                                  \
    constexpr uint width = 32;                                                     \
    const metal_cpu::Lanes<T, width> lanes(data, metal_cpu::op_shuffle, line, file); \
    const uint me = lanes.me;                                                      \
    (void)me, (void)width;                                                         \
    return RESULT;                                                                 \
  }                                                                                \
  template <class T>                                                               \
  inline T quad_##NAME(T data, ushort PARAMETER, METAL_CPU_SITE) {                 \
    metal_cpu::require_data<T>();                                                  \
    constexpr uint width = 4;                                                      \
    const metal_cpu::Lanes<T, width> lanes(data, metal_cpu::op_quad, line, file);  \
    const uint me = lanes.me;                                                      \
    (void)me, (void)width;                                                         \
    return RESULT;                                                                 \
  }
METAL_CPU_SHUFFLE(broadcast, lane, lanes[lane])
METAL_CPU_SHUFFLE(shuffle, lane, lanes[lane])
METAL_CPU_SHUFFLE(shuffle_xor, mask, lanes[me ^ mask])
METAL_CPU_SHUFFLE(shuffle_down, delta, me + delta < width ? lanes[me + delta] : T(data))
METAL_CPU_SHUFFLE(shuffle_up, delta, me >= delta ? lanes[me - delta] : T(data))
METAL_CPU_SHUFFLE(shuffle_rotate_down, delta, lanes[(me + delta) % width])
METAL_CPU_SHUFFLE(shuffle_rotate_up, delta, lanes[(me + width - delta % width) % width])
#undef METAL_CPU_SHUFFLE

// Lanes shifted past an end of their segment of `modulo` lanes receive the filling data, shifted likewise.
#define METAL_CPU_FILL(GROUP, WIDTH, OPERATION)                                                                   \
  template <class T>                                                                                              \
  inline T GROUP##_shuffle_and_fill_down(T data, T filling, ushort delta, ushort modulo, METAL_CPU_SITE) {        \
    metal_cpu::require_data<T>();                                                                                 \
    const metal_cpu::Lanes<T, WIDTH> lanes(data, metal_cpu::OPERATION, line, file);                               \
    const uint start = lanes.me / modulo * modulo, from = lanes.me - start + delta;                               \
    return from < modulo ? lanes[start + from] : T(filling);                                                      \
  }                                                                                                               \
  template <class T>                                                                                              \
  inline T GROUP##_shuffle_and_fill_down(T data, T filling, ushort delta, METAL_CPU_SITE) {                       \
    return GROUP##_shuffle_and_fill_down(data, filling, delta, ushort(WIDTH), line, file);                        \
  }                                                                                                               \
  template <class T>                                                                                              \
  inline T GROUP##_shuffle_and_fill_up(T data, T filling, ushort delta, ushort modulo, METAL_CPU_SITE) {          \
    metal_cpu::require_data<T>();                                                                                 \
    const metal_cpu::Lanes<T, WIDTH> lanes(data, metal_cpu::OPERATION, line, file);                               \
    const uint start = lanes.me / modulo * modulo, offset = lanes.me - start;                                     \
    return offset >= delta ? lanes[start + offset - delta] : T(filling);                                          \
  }                                                                                                               \
  template <class T>                                                                                              \
  inline T GROUP##_shuffle_and_fill_up(T data, T filling, ushort delta, METAL_CPU_SITE) {                         \
    return GROUP##_shuffle_and_fill_up(data, filling, delta, ushort(WIDTH), line, file);                          \
  }
METAL_CPU_FILL(simd, 32, op_shuffle)
METAL_CPU_FILL(quad, 4, op_quad)
#undef METAL_CPU_FILL

template <class T>
inline T simd_broadcast_first(T data, METAL_CPU_SITE) {
  metal_cpu::require_data<T>();
  const metal_cpu::Lanes<T, 32> lanes(data, metal_cpu::op_shuffle, line, file);
  return lanes[lanes.first_active()];
}
METAL_CPU_RUNTIME simd_vote simd_active_threads_mask(METAL_CPU_SITE) {
  return simd_vote(metal_cpu::exchange(true, metal_cpu::op_ballot, line, file).active);
}
METAL_CPU_RUNTIME bool simd_is_first(METAL_CPU_SITE) {
  const metal_cpu::Exchange& exchanged = metal_cpu::exchange(true, metal_cpu::op_ballot, line, file);
  return uint(__builtin_ctz(exchanged.active)) == metal_cpu::current_thread % 32;
}
inline simd_vote simd_ballot(bool predicate, METAL_CPU_SITE) {
  const metal_cpu::Lanes<bool, 32> lanes(predicate, metal_cpu::op_ballot, line, file);
  ulong bits = 0;
  for (uint lane = 0; lane < 32; ++lane) bits |= ulong(lanes.active(lane) && lanes[lane]) << lane;
  return simd_vote(bits);
}
inline bool simd_any(bool predicate, METAL_CPU_SITE) { return simd_ballot(predicate, line, file).any(); }
inline bool simd_all(bool predicate, METAL_CPU_SITE) { return !simd_ballot(!predicate, line, file).any(); }
inline quad_vote quad_ballot(bool predicate, METAL_CPU_SITE) {
  const metal_cpu::Lanes<bool, 4> lanes(predicate, metal_cpu::op_quad, line, file);
  ulong bits = 0;
  for (uint lane = 0; lane < 4; ++lane) bits |= ulong(lanes.active(lane) && lanes[lane]) << lane;
  return quad_vote(bits);
}
inline bool quad_any(bool predicate, METAL_CPU_SITE) { return quad_ballot(predicate, line, file).any(); }
inline bool quad_all(bool predicate, METAL_CPU_SITE) { return !quad_ballot(!predicate, line, file).any(); }

}  // namespace metal
