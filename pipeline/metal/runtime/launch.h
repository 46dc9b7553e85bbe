// One launch of a kernel: what is asked for, what came of it. The Python side lays these structures out by hand
// (pipeline/metal/runtime.py).
#pragma once
#include "abi.h"

namespace metal_cpu {

struct Fiber;

enum Order : u32 { order_forward, order_reverse, order_shuffled };

// Memory that a kernel may use: the storage of bound tensors, or the bytes of a constant argument.
struct Region {
  u64 begin, end;
  u64 pad_begin, pad_end;    // around it; an access there does no harm
  const unsigned char* view;  // per byte: whether a bound tensor has it; null: all of them
  struct Cell* cells;         // who used each granule (races.h); null: not watched
  u64 granule;                // log2 of its bytes, no more than an element has
};

struct Request {
  void (*entry)(void** buffers);
  void (*reset)();  // forgets the rows of an abandoned launch
  void* buffers[max_buffers];
  u32 grid[3];                         // threads
  u32 threadgroup[3];                  // threads
  u32 threadgroup_bytes[max_buffers];  // of the arguments [[threadgroup(i)]]
  u32 order;
  u32 seed;
  u32 flush_subnormals;
  u32 timeout_ms;  // 0: none
  u32 checked;     // the kernel is compiled with METAL_CPU_CHECKED
  u32 region_count;
  Region* regions;
};

// An access to memory by an instrumented kernel. `code` is the instruction behind it, relative to the library.
struct Access {
  u64 address;
  u64 code;
  const char* variable;  // threadgroup memory: whose, and where in it
  u32 offset;
  u32 size;  // 0: no access to memory
  u32 write;
};

// Something worth telling about a launch. Equal events (same note, same places) are counted, not repeated.
struct Event {
  u32 note;
  u32 thread;    // thread_index_in_threadgroup
  u32 group[3];  // threadgroup_position_in_grid
  u32 other_thread;
  u32 other_group[3];
  Site site;
  Site other_site;
  Access access;
  Access other_access;
  u64 count;
};

enum Stop : u32 { stop_none, stop_signal, stop_out_of_bounds, stop_threadgroup_memory, stop_stack };

struct Outcome {
  u32 stop;
  u32 signal;
  u64 fault_address;
  u32 stopped_group[3];
  u32 threadgroup_memory;  // bytes used by the threadgroup that used most
  u32 event_count;
  static constexpr u32 max_events = 64;
  Event events[max_events];
};

extern Request request;
extern "C" __attribute__((visibility("default"))) Outcome mcpu_outcome;  // of the latest launch
static Outcome& outcome = mcpu_outcome;

// The launch's random numbers: the same seed gives the same order.
u32 random_below(u32 bound);

void record(const Event& event);

// Abandons the kernel. Does not return.
[[noreturn]] void stop(Stop why);

// scheduler.cpp: runs every threadgroup of the grid.
void run_grid();
// Where the scheduler stands: the fiber that runs, or null.
Fiber* running_fiber();
const Geometry& current_geometry();
// The threadgroup_position_in_grid of a threadgroup of this launch, by its serial.
u32 launch_serial();  // of its first threadgroup
void place_group(u32 serial, u32 (&group)[3]);

// threadgroup.cpp: memory of the current threadgroup.
constexpr u32 max_allocations = 256;
constexpr u32 threadgroup_arena = max_threadgroup_memory + max_allocations * 128;  // with gaps between variables
void reset_threadgroup_memory();
bool is_threadgroup_memory(u64 address);
// The offset of an address in threadgroup memory, and the variable it belongs to.
u32 threadgroup_offset(u64 address);
// Fills in the variable an access is in, or behind; false when it is not wholly inside.
bool find_threadgroup_variable(Access& access);

// access.cpp: before the first thread of a launch; when all threads have arrived at a barrier.
void begin_accesses();
void pass_threadgroup_barrier(u32 flags);
void pass_simdgroup_barrier(u32 simdgroup, u32 flags);

}  // namespace metal_cpu
