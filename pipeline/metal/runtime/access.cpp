// Every load and store of a kernel compiled with -fsanitize=thread comes through here before it happens. It is not
// ThreadSanitizer that answers: the calls say which bound tensor or threadgroup variable is used, by which thread, and
// between which barriers.
#include <string.h>

#include "fiber.h"
#include "launch.h"
#include "races.h"

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#include <mach-o/getsect.h>
#include <mach-o/loader.h>
#else
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#endif

namespace metal_cpu {

extern "C" {
u32 mcpu_current_thread;
}

static u64 image_begin, image_end;  // of the kernel's library: its constants
// Barriers so far, counted for threadgroup memory and for device memory.
static u32 period, device_period;
static u32 steps[max_threads_per_threadgroup / simd_width], device_steps[max_threads_per_threadgroup / simd_width];
static Cell threadgroup_cells[threadgroup_arena];
static Region* last_region;

// ---- the library ----

#if defined(__APPLE__)
static void find_image(const void* address) {
  for (u32 i = 0; i < _dyld_image_count(); ++i) {
    const auto* header = reinterpret_cast<const mach_header_64*>(_dyld_get_image_header(i));
    const auto* command = reinterpret_cast<const load_command*>(header + 1);
    for (u32 j = 0; j < header->ncmds; ++j) {
      const auto* segment = reinterpret_cast<const segment_command_64*>(command);
      const u64 begin = segment->vmaddr + u64(_dyld_get_image_vmaddr_slide(i));
      if (command->cmd == LC_SEGMENT_64 && u64(address) - begin < segment->vmsize) {
        image_begin = u64(header);
        image_end = begin + segment->vmsize;
        return;
      }
      command = reinterpret_cast<const load_command*>(reinterpret_cast<const char*>(command) + command->cmdsize);
    }
  }
}
#else
static int visit_image(dl_phdr_info* info, size_t, void* address) {
  u64 begin = ~0ull, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const u64 from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;
    if (from < begin) begin = from;
    if (to > end) end = to;
  }
  if (u64(address) < begin || u64(address) >= end) return 0;
  image_begin = info->dlpi_addr;
  image_end = end;
  return 1;
}
static void find_image(const void* address) { dl_iterate_phdr(visit_image, const_cast<void*>(address)); }
#endif

void begin_accesses() {
  const u64 entry = u64(request.entry);
  if (entry < image_begin || entry >= image_end) find_image(reinterpret_cast<const void*>(entry));
  last_region = request.regions;
}

void pass_threadgroup_barrier(u32 flags) {
  if (flags & flag_threadgroup) ++period;
  if (flags & flag_device) ++device_period;
}
void pass_simdgroup_barrier(u32 simdgroup, u32 flags) {
  if (flags & flag_threadgroup) ++steps[simdgroup];
  if (flags & flag_device) ++device_steps[simdgroup];
}

// ---- one access ----

static Event event_of(Note note, const Access& access) {
  Event event = {};
  event.note = note;
  event.thread = mcpu_current_thread;
  for (int i = 0; i < 3; ++i) event.group[i] = event.other_group[i] = current_geometry().group[i];
  event.access = access;
  return event;
}

static Use use_of(const Access& access, bool atomic, u32 barrier_period, const u32* barrier_steps) {
  const u32 thread = mcpu_current_thread;
  return {u32(current_geometry().serial), u16(thread), u8(access.size < 255 ? access.size : 255), atomic,
          barrier_period, barrier_steps[thread / simd_width], u32(access.code)};
}

static void record_race(Note note, const Access& access, const Use& other, bool other_wrote) {
  Event event = event_of(note, access);
  event.other_thread = other.thread;
  place_group(other.group, event.other_group);
  event.other_access = access;
  event.other_access.code = other.code;
  event.other_access.size = other.size;
  event.other_access.write = other_wrote;
  record(event);
}

// Looks for a conflict in every cell of an access, tells of the first, and remembers the access. Uses by threadgroups
// before `oldest` are of other memory, or of another launch.
static void watch(Cell* cells, u32 count, const Use& use, const Access& access, u32 oldest, Note note) {
  bool told = false;
  for (u32 i = 0; i < count; ++i) {
    forget(cells[i], oldest);
    const Use* other = told ? nullptr : conflict(cells[i], use, access.write);
    if (other) {
      record_race(note, access, *other, other == &cells[i].write);
      told = true;
    }
    remember(cells[i], use, access.write);
  }
}

// How much of what a load reads has to be there. A copy moves the padding of a structure along.
enum class Reads { all, some };

static bool unwritten(const Cell* cells, u32 size, u32 group, Reads reads) {
  u32 missing = 0;
  for (u32 i = 0; i < size; ++i) missing += cells[i].write.group != group;
  return reads == Reads::all ? missing > 0 : missing == size;
}

static void use_threadgroup_memory(Access access, bool atomic, Reads reads) {
  if (!find_threadgroup_variable(access)) {
    record(event_of(note_out_of_bounds, access));
    if (threadgroup_offset(access.address) + access.size > threadgroup_arena) stop(stop_out_of_bounds);
    return;
  }
  Cell* cells = threadgroup_cells + threadgroup_offset(access.address);
  const Use use = use_of(access, atomic, period, steps);
  if (!access.write && unwritten(cells, access.size, use.group, reads)) record(event_of(note_unwritten_read, access));
  watch(cells, access.size, use, access, use.group, note_threadgroup_race);
}

static Region* find_region(u64 address) {
  if (address - last_region->begin < last_region->end - last_region->begin) return last_region;
  for (u32 i = 0; i < request.region_count; ++i) {
    Region& region = request.regions[i];
    if (address - region.begin < region.end - region.begin) return last_region = &region;
  }
  return nullptr;
}

static bool in_padding(u64 address, u64 size) {
  for (u32 i = 0; i < request.region_count; ++i) {
    const Region& region = request.regions[i];
    if (address >= region.pad_begin && address + size <= region.pad_end) return true;
  }
  return false;
}

static void use_region(Region& region, const Access& access, bool atomic) {
  if (region.view) {
    for (u32 i = 0; i < access.size; ++i) {
      if (region.view[access.address - region.begin + i]) continue;
      record(event_of(note_outside_view, access));
      break;
    }
  }
  if (region.cells) {
    const Use use = use_of(access, atomic, device_period, device_steps);
    const u64 first = (access.address - region.begin) >> region.granule;
    const u64 last = (access.address - region.begin + access.size - 1) >> region.granule;
    watch(region.cells + first, u32(last - first + 1), use, access, launch_serial(), note_device_race);
  }
}

static bool is_own_stack(u64 address) {
  const Fiber* fiber = running_fiber();
  return fiber && address - u64(fiber->stack) < fiber_stack_size;
}

// `alignment` is what the kernel relies on, no more than the four bytes that the hardware insists on.
static void use(u64 address, u64 size, bool write, bool atomic, u32 alignment, u64 code,
                Reads reads = Reads::all) {
  if (is_own_stack(address) || size == 0) return;
  const Access access = {address, code - image_begin, nullptr, 0, u32(size), write};
  if (address % alignment) record(event_of(note_misaligned, access));
  if (is_threadgroup_memory(address)) {
    use_threadgroup_memory(access, atomic, reads);
    return;
  }
  Region* region = find_region(address);
  if (region && address + size <= region->end) {
    use_region(*region, access, atomic);
    return;
  }
  if (!write && address >= image_begin && address < image_end) return;
  record(event_of(note_out_of_bounds, access));
  if (!in_padding(address, size)) stop(stop_out_of_bounds);
}

extern "C" void mcpu_atomic(const volatile void* address, u32 size, void* caller) {
  const u64 word = u64(address) & ~3ull;  // where the operation takes place
  if (word != u64(address)) record(event_of(note_misaligned, {u64(address), u64(caller) - image_begin, nullptr, 0, size, 1}));
  use(word, size, true, true, 1, u64(caller));
}

}  // namespace metal_cpu

#define CALLER metal_cpu::u64(__builtin_return_address(0))
#define ACCESS(NAME, SIZE, WRITE, ALIGNMENT)                                                  \
  extern "C" __attribute__((visibility("default"))) void __tsan_##NAME##SIZE(void* address) { \
    metal_cpu::use(metal_cpu::u64(address), SIZE, WRITE, false, ALIGNMENT, CALLER);           \
  }
// Vectors and longs are compiled for multiples of four (-fmax-type-align); what is narrower and unaligned was joined
// from smaller accesses by the compiler.
#define ACCESSES(SIZE, ALIGNMENT, UNALIGNED)     \
  ACCESS(read, SIZE, false, ALIGNMENT)           \
  ACCESS(write, SIZE, true, ALIGNMENT)           \
  ACCESS(unaligned_read, SIZE, false, UNALIGNED) \
  ACCESS(unaligned_write, SIZE, true, UNALIGNED)
ACCESSES(1, 1, 1)
ACCESSES(2, 2, 1)
ACCESSES(4, 4, 1)
ACCESSES(8, 4, 4)
ACCESSES(16, 4, 4)

#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT void __tsan_init() {}
EXPORT void* __tsan_memcpy(void* target, const void* source, metal_cpu::u64 size) {
  metal_cpu::use(metal_cpu::u64(source), size, false, false, 1, CALLER, metal_cpu::Reads::some);
  metal_cpu::use(metal_cpu::u64(target), size, true, false, 1, CALLER);
  return memcpy(target, source, size);
}
EXPORT void* __tsan_memmove(void* target, const void* source, metal_cpu::u64 size) {
  metal_cpu::use(metal_cpu::u64(source), size, false, false, 1, CALLER, metal_cpu::Reads::some);
  metal_cpu::use(metal_cpu::u64(target), size, true, false, 1, CALLER);
  return memmove(target, source, size);
}
EXPORT void* __tsan_memset(void* target, int value, metal_cpu::u64 size) {
  metal_cpu::use(metal_cpu::u64(target), size, true, false, 1, CALLER);
  return memset(target, value, size);
}
