// Threadgroup memory: one arena, handed out afresh in every threadgroup. It is filled with 0xFF (NaN, -1) first, so a
// read of something nobody wrote shows in the result.
#include <stdio.h>
#include <string.h>

#include "launch.h"

namespace metal_cpu {

// A checked kernel has gaps between its variables, so that an access past the end of one does not land in the next.
constexpr u64 gap = 64;
alignas(128) static char arena[threadgroup_arena];
static u64 used;   // by variables
static u64 place;  // of the next variable
static void* arguments[max_buffers];

// What was handed out, in order of addresses.
struct Allocation {
  const char* name;
  u32 begin, end;
};
static Allocation allocations[max_allocations];
static u32 allocation_count;

void reset_threadgroup_memory() {
  used = place = 0;
  allocation_count = 0;
  memset(arguments, 0, sizeof arguments);
}

static void* allocate(u64 size, u64 alignment, const char* name) {
  used = (used + alignment - 1) / alignment * alignment + size;
  if (used > outcome.threadgroup_memory) outcome.threadgroup_memory = u32(used < 0xffffffff ? used : 0xffffffff);
  if (used > max_threadgroup_memory || allocation_count == max_allocations) stop(stop_threadgroup_memory);
  const u64 begin = (place + alignment - 1) / alignment * alignment;
  place = begin + size + (request.checked ? gap : 0);
  memset(arena + begin, 0xff, size);
  allocations[allocation_count++] = {name, u32(begin), u32(begin + size)};
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

bool find_threadgroup_variable(Access& access) {
  const u32 at = threadgroup_offset(access.address);
  for (u32 i = allocation_count; i-- > 0;) {
    if (at < allocations[i].begin) continue;
    access.variable = allocations[i].name;
    access.offset = at - allocations[i].begin;
    return at + access.size <= allocations[i].end;
  }
  return false;
}

}  // namespace metal_cpu
