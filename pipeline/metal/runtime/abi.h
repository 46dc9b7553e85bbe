// What compiled shaders and the runtime say to each other. Included by both: library/execution.h and runtime/*.cpp.
#pragma once

namespace metal_cpu {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

// String literals, which lie in constant memory where address spaces are checked.
#ifdef METAL_CPU_SPACES
using Text = const __constant char*;
#else
using Text = const char*;
#endif

constexpr u32 simd_width = 32;
constexpr u32 quad_width = 4;
constexpr u32 max_threads_per_threadgroup = 1024;
constexpr u32 max_threadgroup_memory = 32 * 1024;  // bytes
constexpr u32 max_buffers = 31;                    // argument table of a compute encoder

// Where the current threadgroup stands in the grid. `size` is smaller than `dispatched` at the edges of the grid.
struct Geometry {
  u32 group[3];
  u32 size[3];
  u32 dispatched[3];
  u32 grid[3];
  u32 groups[3];
  u32 threads;  // in this threadgroup
  u64 serial;   // counts threadgroups
};

// Threads to start one after another: x in [next, end) of one row of the threadgroup.
struct Row {
  u32 next, end;
  u32 y, z;
  u32 base;  // thread_index_in_threadgroup of x = 0
};

// The values that the lanes of a simdgroup handed in, valid for the lanes set in `active`.
struct Exchange {
  static constexpr u32 capacity = 64;
  u32 active;
  alignas(16) unsigned char values[simd_width][capacity];
};

enum Operation : u32 {
  op_none,
  op_threadgroup_barrier,
  op_simdgroup_barrier,
  op_ballot,
  op_reduce,
  op_scan,
  op_shuffle,
  op_matrix,
  op_quad,
  op_undefined,
};

// A place in the shader's source; `file` is a string literal of the compiled shader.
struct Site {
  Operation operation;
  u32 line;
  Text file;
  u32 flags;  // mem_flags of a barrier
};
constexpr u32 flag_device = 1, flag_threadgroup = 2;

enum Note : u32 {
  note_inactive_lane_read,
  note_barrier_divergence,
  note_simd_divergence,
  note_division_by_zero,
  note_out_of_bounds,
  note_outside_view,
  note_unwritten_read,
  note_threadgroup_race,
  note_device_race,
  note_shift_out_of_range,
  note_conversion_overflow,
  note_index_out_of_bounds,
  note_misaligned,
  note_kinds,
};

// A threadgroup variable of a kernel: where it lives in the threadgroup `serial`.
struct Variable {
  void* address;
  u64 serial;
  Text name;
};

#pragma GCC visibility push(default)
extern "C" {

bool mcpu_next_row(Row* row, Geometry* geometry);
void mcpu_barrier(u32 thread, Site site);
const Exchange* mcpu_exchange(u32 thread, const void* value, u32 size, Site site);
void* mcpu_threadgroup_variable(Variable* variable, u64 size, u64 alignment);
void* mcpu_threadgroup_argument(u32 index);
void mcpu_note(Note note, u32 thread, Site site);

// fmodf, out of the optimiser's sight: clang 22 narrows it to half and then cannot compile that.
float mcpu_fmod(float x, float y);

// Compiled with METAL_CPU_CHECKED, every load and store calls the runtime, which asks for the thread by these.
extern u32 mcpu_current_thread;
void mcpu_atomic(const volatile void* address, u32 size, void* caller);
}
#pragma GCC visibility pop

}  // namespace metal_cpu
