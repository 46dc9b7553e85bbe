// Runs the threads of a grid, threadgroup by threadgroup. Threads are started in a plain loop (library/execution.h); a
// thread that waits leaves its fiber parked and the loop continues on the next fiber. When every thread of a threadgroup
// has finished or waits, simdgroup functions are resolved first, then simdgroup barriers, then threadgroup barriers.
#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "launch.h"

namespace metal_cpu {

static Fiber fibers[max_threads_per_threadgroup];
static Fiber* parked[max_threads_per_threadgroup];  // fibers that wait, in the order in which they started
static u32 parked_count;
static Fiber* current;

static Geometry geometry;
static u64 first_serial;              // of the launch
static u64 group_count, group_index;  // of the grid; the next one to start
static u64 group_step, group_shift;   // the shuffled order of threadgroups
static u32 started;                   // threads of the threadgroup that were started
static u32 thread_order[max_threads_per_threadgroup];

static Exchange exchanges[max_threads_per_threadgroup / simd_width];

Fiber* running_fiber() { return current; }
const Geometry& current_geometry() { return geometry; }

static u64 greatest_common_divisor(u64 a, u64 b) {
  while (b) {
    const u64 rest = a % b;
    a = b, b = rest;
  }
  return a;
}

static void begin_grid() {
  group_count = 1;
  for (int i = 0; i < 3; ++i) {
    geometry.grid[i] = request.grid[i];
    geometry.dispatched[i] = request.threadgroup[i];
    geometry.groups[i] = (request.grid[i] + request.threadgroup[i] - 1) / request.threadgroup[i];
    group_count *= geometry.groups[i];
  }
  group_index = 0;
  first_serial = geometry.serial + 1;
  group_step = 1, group_shift = 0;
  if (request.order == order_shuffled && group_count > 2 && group_count <= 0xffffffff) {
    group_shift = random_below(u32(group_count));
    do {
      group_step = 1 + random_below(u32(group_count - 1));
    } while (greatest_common_divisor(group_step, group_count) != 1);
  }
  parked_count = 0;
  current = nullptr;
}

static u64 group_in_order(u64 index) {
  switch (request.order) {
    case order_reverse: return group_count - 1 - index;
    case order_shuffled: return (index * group_step + group_shift) % group_count;
    default: return index;
  }
}

static void place(u64 index, u32 (&group)[3]) {
  for (int i = 0; i < 3; ++i) {
    group[i] = u32(index % geometry.groups[i]);
    index /= geometry.groups[i];
  }
}

u32 launch_serial() { return u32(first_serial); }
void place_group(u32 serial, u32 (&group)[3]) { place(group_in_order(serial - u32(first_serial)), group); }

static bool next_group() {
  if (group_index == group_count) return false;
  place(group_in_order(group_index++), geometry.group);
  geometry.threads = 1;
  for (int i = 0; i < 3; ++i) {
    const u32 left = geometry.grid[i] - geometry.group[i] * geometry.dispatched[i];
    geometry.size[i] = left < geometry.dispatched[i] ? left : geometry.dispatched[i];
    geometry.threads *= geometry.size[i];
  }
  ++geometry.serial;
  started = 0;
  reset_threadgroup_memory();
  if (request.order == order_shuffled) {
    for (u32 i = 0; i < geometry.threads; ++i) {
      const u32 j = random_below(i + 1);
      thread_order[i] = thread_order[j];
      thread_order[j] = i;
    }
  }
  return true;
}

// The next threads to start: the rest of a row when going forward, one thread otherwise.
static void take_row(Row& row) {
  u32 thread = started;
  if (request.order == order_reverse) thread = geometry.threads - 1 - started;
  if (request.order == order_shuffled) thread = thread_order[started];
  const u32 x = thread % geometry.size[0], line = thread / geometry.size[0];
  row.y = line % geometry.size[1];
  row.z = line / geometry.size[1];
  row.base = thread - x;
  row.next = x;
  row.end = request.order == order_forward ? geometry.size[0] : x + 1;
  started += row.end - row.next;
}

// A fiber asks for more threads. While nothing waits, it goes on to the next threadgroup by itself.
extern "C" bool mcpu_next_row(Row* row, Geometry* shown) {
  if (started == geometry.threads && (parked_count || !next_group())) return false;
  take_row(*row);
  *shown = geometry;
  return true;
}

static void fiber_main() {
  request.entry(request.buffers);
  current->wait = Wait::finished;
  yield(*current);
  abort();
}

static void run(Fiber& fiber) {
  current = &fiber;
  resume(fiber);
  current = nullptr;
}

// A thread waits. Going forward, the threads behind it in its row have not been started after all.
static void park(u32 thread, Wait wait, Site site) {
  Fiber& fiber = *current;
  fiber.thread = thread;
  fiber.site = site;
  fiber.wait = wait;
  yield(fiber);
}

extern "C" void mcpu_barrier(u32 thread, Site site) { park(thread, Wait::barrier, site); }

extern "C" const Exchange* mcpu_exchange(u32 thread, const void* value, u32 size, Site site) {
  current->value = value;
  current->value_size = size;
  park(thread, Wait::exchange, site);
  return &exchanges[thread / simd_width];
}

static void record_places(Note note, u32 thread, Site site, u32 other_thread, Site other_site) {
  Event event = {};
  event.note = note;
  event.thread = thread;
  event.other_thread = other_thread;
  for (int i = 0; i < 3; ++i) event.group[i] = event.other_group[i] = geometry.group[i];
  event.site = site;
  event.other_site = other_site;
  record(event);
}

extern "C" void mcpu_note(Note note, u32 thread, Site site) {
  record_places(note, thread, site, thread, Site{});
}

static void start_threads() {
  do {
    Fiber& fiber = fibers[parked_count];
    if (!prepare(fiber, parked_count, fiber_main)) abort();
    run(fiber);
    if (fiber.wait == Wait::finished) continue;
    if (request.order == order_forward) started = fiber.thread + 1;
    parked[parked_count++] = &fiber;
  } while (started < geometry.threads);
}

static bool same_place(const Site& a, const Site& b) {
  return a.operation == b.operation && a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

// Lets the lanes of one simdgroup go on that wait for each other. `lanes` has its waiting fibers, null elsewhere.
static bool release_simdgroup(Fiber** lanes, Exchange& exchange) {
  Fiber* leader = nullptr;
  for (u32 lane = 0; lane < simd_width; ++lane) {
    Fiber* fiber = lanes[lane];
    if (!fiber) continue;
    if (fiber->wait == Wait::exchange && (!leader || leader->wait != Wait::exchange)) leader = fiber;
    if (!leader && fiber->site.operation == op_simdgroup_barrier) leader = fiber;
  }
  if (!leader) return false;
  const Note divergence = leader->wait == Wait::exchange ? note_simd_divergence : note_barrier_divergence;
  const Wait wait = leader->wait;
  const Site site = leader->site;
  exchange.active = 0;
  for (u32 lane = 0; lane < simd_width; ++lane) {
    Fiber* fiber = lanes[lane];
    if (!fiber) continue;
    if (fiber->wait != wait || !same_place(fiber->site, site)) {
      // Lanes that already wait at a threadgroup barrier are merely not active, unless all must come.
      const bool inactive = wait == Wait::exchange && fiber->site.operation == op_threadgroup_barrier;
      if (!inactive) record_places(divergence, leader->thread, site, fiber->thread, fiber->site);
      continue;
    }
    if (wait == Wait::exchange) {
      exchange.active |= 1u << lane;
      memcpy(exchange.values[lane], fiber->value, fiber->value_size);
    }
    fiber->wait = Wait::running;
  }
  if (wait == Wait::barrier) pass_simdgroup_barrier(leader->thread / simd_width, site.flags);
  return true;
}

static void release_threadgroup_barrier(Fiber** by_thread) {
  const Fiber& first = *parked[0];
  for (u32 i = 1; i < parked_count; ++i) {
    if (!same_place(parked[i]->site, first.site)) {
      record_places(note_barrier_divergence, first.thread, first.site, parked[i]->thread, parked[i]->site);
    }
  }
  for (u32 thread = 0; parked_count < geometry.threads && thread < geometry.threads; ++thread) {
    if (by_thread[thread]) continue;
    record_places(note_barrier_divergence, first.thread, first.site, thread, Site{});
    break;
  }
  for (u32 i = 0; i < parked_count; ++i) parked[i]->wait = Wait::running;
  pass_threadgroup_barrier(first.site.flags);
}

static void release() {
  static Fiber* by_thread[max_threads_per_threadgroup];
  const u32 lanes = (geometry.threads + simd_width - 1) / simd_width * simd_width;
  memset(by_thread, 0, lanes * sizeof *by_thread);
  for (u32 i = 0; i < parked_count; ++i) by_thread[parked[i]->thread] = parked[i];
  bool any = false;
  for (u32 first = 0; first < geometry.threads; first += simd_width) {
    any |= release_simdgroup(by_thread + first, exchanges[first / simd_width]);
  }
  if (!any) release_threadgroup_barrier(by_thread);
}

static void shuffle_parked() {
  for (u32 i = parked_count; i > 1; --i) {
    const u32 j = random_below(i);
    Fiber* fiber = parked[j];
    parked[j] = parked[i - 1];
    parked[i - 1] = fiber;
  }
}

static void run_released() {
  if (request.order == order_shuffled) shuffle_parked();
  for (u32 i = 0; i < parked_count; ++i) {
    Fiber& fiber = *parked[request.order == order_reverse ? parked_count - 1 - i : i];
    if (fiber.wait == Wait::running) run(fiber);
  }
  u32 left = 0;
  for (u32 i = 0; i < parked_count; ++i) {
    if (parked[i]->wait != Wait::finished) parked[left++] = parked[i];
  }
  parked_count = left;
}

void run_grid() {
  begin_grid();
  while (next_group()) {
    start_threads();
    while (parked_count) {
      release();
      run_released();
    }
  }
}

}  // namespace metal_cpu
