// Threadgroup memory: one arena, handed out afresh in every threadgroup. It is filled with 0xFF (NaN, -1) first, so a
// read of something nobody wrote shows in the result.
#include <stdio.h>
#include <string.h>

#include "launch.h"

namespace metal_cpu {

alignas(128) static char arena[max_threadgroup_memory];
static u64 used;
static void* arguments[max_buffers];

// What was handed out, in order of addresses.
struct Allocation {
  const char* name;
  u32 begin, end;
};
constexpr u32 max_allocations = 256;
static Allocation allocations[max_allocations];
static u32 allocation_count;

void reset_threadgroup_memory() {
  used = 0;
  allocation_count = 0;
  memset(arguments, 0, sizeof arguments);
}

static void* allocate(u64 size, u64 alignment, const char* name) {
  const u64 begin = (used + alignment - 1) / alignment * alignment;
  used = begin + size;
  if (used > outcome.threadgroup_memory) outcome.threadgroup_memory = u32(used < 0xffffffff ? used : 0xffffffff);
  if (used > max_threadgroup_memory || allocation_count == max_allocations) stop(stop_threadgroup_memory);
  memset(arena + begin, 0xff, size);
  allocations[allocation_count++] = {name, u32(begin), u32(used)};
  return arena + begin;
}

extern "C" void* mcpu_threadgroup_variable(Variable* variable, u64 size, u64 alignment) {
  variable->address = allocate(size, alignment, variable->name);
  variable->serial = current_geometry().serial;
  return variable->address;
}

extern "C" void* mcpu_threadgroup_argument(u32 index) {
  static char names[max_buffers][24];
  if (!arguments[index]) {
    if (!names[index][0]) snprintf(names[index], sizeof names[index], "[[threadgroup(%u)]]", index);
    arguments[index] = allocate(request.threadgroup_bytes[index], 16, names[index]);
  }
  return arguments[index];
}

bool is_threadgroup_memory(u64 address) { return address - u64(arena) < sizeof arena; }
u32 threadgroup_offset(u64 address) { return u32(address - u64(arena)); }

void name_threadgroup_memory(Access& access) {
  const u32 at = threadgroup_offset(access.address);
  for (u32 i = 0; i < allocation_count; ++i) {
    if (at >= allocations[i].begin && at < allocations[i].end) {
      access.variable = allocations[i].name;
      access.offset = at - allocations[i].begin;
      return;
    }
  }
}

}  // namespace metal_cpu
