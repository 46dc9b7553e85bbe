// Who used a byte of memory last, and whether two uses are ordered by a barrier.
#pragma once
#include "abi.h"

namespace metal_cpu {

// One use. Barriers count up: `period` the threadgroup barriers, `step` those of the thread's simdgroup. Neither starts
// again, and threadgroups have serial numbers, so what an earlier threadgroup left behind is told apart by them.
struct Use {
  u32 group;   // serial; 0: no use
  u16 thread;  // thread_index_in_threadgroup
  u8 size;
  u8 atomic;
  u32 period;
  u32 step;
  u32 code;  // the instruction behind the access, relative to the library
};

struct Cell {
  Use write;
  Use reads[2];  // by different threads
};

// Whether a barrier stands between an earlier and a later use.
inline bool ordered(const Use& earlier, const Use& later) {
  if (earlier.group != later.group) return false;  // no barrier spans threadgroups
  if (earlier.period != later.period) return true;
  return earlier.thread / simd_width == later.thread / simd_width && earlier.step != later.step;
}

inline bool conflicting(const Use& earlier, const Use& later) {
  const bool same_thread = earlier.group == later.group && earlier.thread == later.thread;
  return earlier.group && !same_thread && !(earlier.atomic && later.atomic) && !ordered(earlier, later);
}

// Drops the uses by threadgroups with serials before `oldest`.
inline void forget(Cell& cell, u32 oldest) {
  if (cell.write.group < oldest) cell.write = Use{};
  for (Use& read : cell.reads) {
    if (read.group < oldest) read = Use{};
  }
}

// The earlier use of this byte that conflicts with `use`, or null.
inline const Use* conflict(const Cell& cell, const Use& use, bool write) {
  if (conflicting(cell.write, use)) return &cell.write;
  if (!write) return nullptr;
  for (const Use& read : cell.reads) {
    if (conflicting(read, use)) return &read;
  }
  return nullptr;
}

inline void remember(Cell& cell, const Use& use, bool write) {
  if (write) {
    cell = Cell{use, {}};
  } else {
    const Use& first = cell.reads[0];
    const bool replace = !first.group || (first.group == use.group && first.thread == use.thread) || ordered(first, use);
    cell.reads[replace ? 0 : 1] = use;
  }
}

}  // namespace metal_cpu
