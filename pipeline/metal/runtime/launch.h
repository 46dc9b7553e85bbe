// One launch of a kernel: what is asked for, what came of it. The Python side lays these structures out by hand
// (pipeline/metal/runtime.py).
#pragma once
#include "abi.h"

namespace metal_cpu {

enum Order : u32 { order_forward, order_reverse, order_shuffled };

struct Request {
  void (*entry)(void** buffers);
  void (*reset)();  // forgets the rows of an abandoned launch
  void* buffers[max_buffers];
  u32 grid[3];       // threads
  u32 threadgroup[3];  // threads
  u32 threadgroup_bytes[max_buffers];  // of the arguments [[threadgroup(i)]]
  u32 order;
  u32 seed;
  u32 flush_subnormals;
  u32 timeout_ms;  // 0: none
};

// Something worth telling about a launch. Equal events (same note, same sites) are counted, not repeated.
struct Event {
  u32 note;
  u32 thread;    // thread_index_in_threadgroup
  u32 group[3];  // threadgroup_position_in_grid
  u32 other_thread;
  Site site;
  Site other_site;
  u64 count;
};

struct Outcome {
  int signal;  // that stopped the kernel, or 0
  u32 stack_overflow;
  u64 fault_address;
  u32 stopped_thread;
  u32 stopped_group[3];
  u32 threadgroup_memory;  // bytes used by the threadgroup that used most
  u32 event_count;
  static constexpr u32 max_events = 64;
  Event events[max_events];
};

extern Request request;
extern Outcome outcome;

// The launch's random numbers: the same seed gives the same order.
u32 random_below(u32 bound);

void record(u32 note, u32 thread, const u32* group, u32 other_thread, Site site, Site other_site);

// scheduler.cpp: runs every threadgroup of the grid.
void run_grid();
// Where the scheduler stands: the fiber that runs, or null.
struct Fiber* running_fiber();
const Geometry& current_geometry();

// threadgroup.cpp: memory of the current threadgroup.
void reset_threadgroup_memory();

}  // namespace metal_cpu
