// Threads of a threadgroup as fibers: a stack of their own each, switched by hand, all on one operating-system thread.
#pragma once
#include "abi.h"

namespace metal_cpu {

enum class Wait : u32 { running, barrier, exchange, finished };

struct Fiber {
  void* stack_pointer;
  char* stack;  // lowest address; its first page is a guard
  Wait wait;
  u32 thread;         // thread_index_in_threadgroup, while waiting
  Site site;          // where it waits
  const void* value;  // handed in for an exchange
  u32 value_size;
};

constexpr u64 fiber_stack_size = 256 * 1024;

// Prepares `fiber`, the `index`-th of all, to run `entry` from its start, on a stack of its own.
bool prepare(Fiber& fiber, u32 index, void (*entry)());

// From the scheduler: run `fiber` until it waits or finishes.
void resume(Fiber& fiber);

// From a fiber: back to the scheduler.
void yield(Fiber& fiber);

// Whether `address` lies in the guard page of the fiber's stack.
bool overflowed(const Fiber& fiber, const void* address);

}  // namespace metal_cpu
