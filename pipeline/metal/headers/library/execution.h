// Running a kernel function once per thread: the loop that every entry point is made of, the attributes that give a
// thread its position, threadgroup variables and barriers.
//
// Threads of a threadgroup run one after another in one loop until one of them has to wait. The state of that loop is
// internal to this translation unit and its address is never taken, so a kernel that never waits becomes a plain loop
// that the compiler may vectorise. A waiting thread leaves its loop through the runtime, and a new fiber continues the
// loop behind it.
#pragma once
#include "../../runtime/abi.h"
#include "vec.h"

namespace metal {

enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16,
};
METAL_CPU_INLINE constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
METAL_CPU_INLINE constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }

}  // namespace metal

namespace metal_cpu {

static Geometry geometry;
static Row row;
#ifdef METAL_CPU_CHECKED
static uint& current_thread = mcpu_current_thread;
#else
static uint current_thread;
#endif

METAL_CPU_RUNTIME bool next_thread() {
  if (row.next >= row.end) return false;
  current_thread = row.base + row.next++;
  return true;
}

METAL_CPU_RUNTIME bool next_row() {
  Row r;
  Geometry g;
  if (!mcpu_next_row(&r, &g)) return false;
  row = r;
  geometry = g;
  return true;
}

extern "C" METAL_CPU_ENTRY void mcpu_reset() { row = Row{}; }

#ifdef METAL_CPU_SPACES
#define METAL_CPU_AT(T, ADDRESS) static_cast<T*>(nullptr)  // its address space is not known here
#else
#define METAL_CPU_AT(T, ADDRESS) static_cast<T*>(ADDRESS)
#endif

// A kernel argument, converted to what the kernel declares it as.
struct Pointer {
  void* address;
  template <class T>
  METAL_CPU_RUNTIME operator T*() const {
    return METAL_CPU_AT(T, address);
  }
};
struct Reference {
  void* address;
  template <class T>
  METAL_CPU_RUNTIME operator T&() const {
    return *METAL_CPU_AT(T, address);
  }
};

// What a parameter points or refers to, in bytes; zero where that has no size.
struct Extent {
  uint size, alignment;
};
template <class T, class = void>
struct extent_of {
  static constexpr Extent value = {0, 1};
};
template <class T>
struct extent_of<T*, metal::enable_if_t<!__is_void(T) && (sizeof(T) > 0)>> {
  static constexpr Extent value = {sizeof(T), alignof(T)};
};
template <class T>
struct extent_of<T&, metal::enable_if_t<(sizeof(T) > 0)>> {
  static constexpr Extent value = {sizeof(T), alignof(T)};
};
template <class Function>
struct Extents;
template <class... Parameters>
struct Extents<void (*)(Parameters...)> {
  static constexpr Extent values[sizeof...(Parameters) + 1] = {extent_of<Parameters>::value...};
};
template <class... Parameters>
constexpr Extent Extents<void (*)(Parameters...)>::values[sizeof...(Parameters) + 1];

// A position, as a scalar (its x) or a vector of two or three, of any integer type.
struct Position {
  uint x, y, z;
  template <class T, class = metal::enable_if_t<__is_integral(T)>>
  METAL_CPU_RUNTIME operator T() const {
    return T(x);
  }
  template <class T>
  METAL_CPU_RUNTIME operator metal::vec<T, 2>() const {
    return metal::vec<T, 2>(T(x), T(y));
  }
  template <class T>
  METAL_CPU_RUNTIME operator metal::vec<T, 3>() const {
    return metal::vec<T, 3>(T(x), T(y), T(z));
  }
};

// One function per attribute, named as the attribute. They hold for the thread that next_thread() chose last.
namespace attribute {
METAL_CPU_RUNTIME Position triple(const uint (&v)[3]) { return {v[0], v[1], v[2]}; }
METAL_CPU_RUNTIME Position thread_position_in_threadgroup() { return {row.next - 1, row.y, row.z}; }
METAL_CPU_RUNTIME Position thread_position_in_grid() {
  return {geometry.group[0] * geometry.dispatched[0] + (row.next - 1),
          geometry.group[1] * geometry.dispatched[1] + row.y, geometry.group[2] * geometry.dispatched[2] + row.z};
}
METAL_CPU_RUNTIME Position threadgroup_position_in_grid() { return triple(geometry.group); }
METAL_CPU_RUNTIME Position threads_per_threadgroup() { return triple(geometry.size); }
METAL_CPU_RUNTIME Position dispatch_threads_per_threadgroup() { return triple(geometry.dispatched); }
METAL_CPU_RUNTIME Position threads_per_grid() { return triple(geometry.grid); }
METAL_CPU_RUNTIME Position threadgroups_per_grid() { return triple(geometry.groups); }
METAL_CPU_RUNTIME uint thread_index_in_threadgroup() { return current_thread; }
METAL_CPU_RUNTIME uint thread_index_in_simdgroup() { return current_thread % simd_width; }
METAL_CPU_RUNTIME uint simdgroup_index_in_threadgroup() { return current_thread / simd_width; }
METAL_CPU_RUNTIME uint thread_index_in_quadgroup() { return current_thread % quad_width; }
METAL_CPU_RUNTIME uint quadgroup_index_in_threadgroup() { return current_thread / quad_width; }
METAL_CPU_RUNTIME uint threads_per_simdgroup() { return simd_width; }
METAL_CPU_RUNTIME uint thread_execution_width() { return simd_width; }
METAL_CPU_RUNTIME uint simdgroups_per_threadgroup() { return (geometry.threads + simd_width - 1) / simd_width; }
METAL_CPU_RUNTIME uint quadgroups_per_threadgroup() { return (geometry.threads + quad_width - 1) / quad_width; }
METAL_CPU_RUNTIME uint dispatch_simdgroups_per_threadgroup() {
  return (geometry.dispatched[0] * geometry.dispatched[1] * geometry.dispatched[2] + simd_width - 1) / simd_width;
}
}  // namespace attribute

// `threadgroup T name[n];` in a kernel becomes `auto& name = threadgroup_variable<T[n], id>("name")`.
template <class T, int Id>
struct threadgroup_slot {
  static Variable variable;
};
template <class T, int Id>
Variable threadgroup_slot<T, Id>::variable;

#ifdef METAL_CPU_SPACES
#define METAL_CPU_SHARED __local
#else
#define METAL_CPU_SHARED
#endif

template <class T, int Id>
METAL_CPU_RUNTIME METAL_CPU_SHARED T& threadgroup_variable(Text name) {
  Variable& variable = threadgroup_slot<T, Id>::variable;
  if (variable.serial != geometry.serial) {
    variable.name = name;
    mcpu_threadgroup_variable(&variable, sizeof(T), alignof(T) < 16 ? 16 : alignof(T));
  }
  return *METAL_CPU_AT(METAL_CPU_SHARED T, variable.address);
}

// Hands a value to the other lanes of the simdgroup and waits for theirs.
template <class T>
METAL_CPU_RUNTIME const Exchange& exchange(const T& value, Operation operation, uint line, Text file) {
  static_assert(sizeof(T) <= Exchange::capacity, "too large for a simdgroup exchange");
  const uint me = current_thread;
  const Exchange& result = *mcpu_exchange(me, &value, sizeof(T), Site{operation, line, file, 0});
  current_thread = me;
  return result;
}

METAL_CPU_RUNTIME void wait(Operation operation, metal::mem_flags flags, uint line, Text file) {
  const uint me = current_thread;
  mcpu_barrier(me, Site{operation, line, file, uint(flags)});
  current_thread = me;
}

}  // namespace metal_cpu

namespace metal {

METAL_CPU_RUNTIME void threadgroup_barrier(mem_flags flags, uint line = __builtin_LINE(),
                                          metal_cpu::Text file = __builtin_FILE()) {
  metal_cpu::wait(metal_cpu::op_threadgroup_barrier, flags, line, file);
}
METAL_CPU_RUNTIME void simdgroup_barrier(mem_flags flags, uint line = __builtin_LINE(),
                                        metal_cpu::Text file = __builtin_FILE()) {
  metal_cpu::wait(metal_cpu::op_simdgroup_barrier, flags, line, file);
}

}  // namespace metal
