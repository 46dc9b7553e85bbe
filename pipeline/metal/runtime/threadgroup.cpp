// Threadgroup memory: one arena, handed out afresh in every threadgroup. It is filled with 0xFF (NaN, -1) first, so a
// read of something nobody wrote shows in the result.
#include <string.h>

#include "launch.h"

namespace metal_cpu {

// Larger than the limit, so that a kernel over the limit still runs and can be told how much it used.
constexpr u64 arena_size = 16 * 1024 * 1024;
alignas(128) static char arena[arena_size];
static u64 used;
static void* arguments[max_buffers];

void reset_threadgroup_memory() {
  used = 0;
  memset(arguments, 0, sizeof arguments);
}

static void* allocate(u64 size, u64 alignment) {
  used = (used + alignment - 1) / alignment * alignment;
  if (used + size > arena_size) __builtin_trap();
  void* memory = arena + used;
  used += size;
  memset(memory, 0xff, size);
  if (used > outcome.threadgroup_memory) outcome.threadgroup_memory = u32(used);
  return memory;
}

extern "C" void* mcpu_threadgroup_variable(Variable* variable, u64 size, u64 alignment) {
  variable->address = allocate(size, alignment);
  variable->serial = current_geometry().serial;
  return variable->address;
}

extern "C" void* mcpu_threadgroup_argument(u32 index) {
  if (!arguments[index]) arguments[index] = allocate(request.threadgroup_bytes[index], 16);
  return arguments[index];
}

}  // namespace metal_cpu
