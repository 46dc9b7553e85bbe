// Memory for copies of bound tensors, each in the middle of addresses that fault when they are touched.
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "races.h"

namespace metal_cpu {

constexpr u32 max_slots = 512;
constexpr u64 guard = 256 * 1024 * 1024;  // bytes on either side; addresses only, no memory

struct Slot {
  char* base;  // usable pages, between the guards
  u64 size;
  Cell* cells;
  u64 cell_count;
};
static Slot slots[max_slots];

static u64 round_up(u64 value, u64 unit) { return (value + unit - 1) / unit * unit; }

static bool reserve(Slot& slot, u64 size) {
  const u64 page = u64(sysconf(_SC_PAGESIZE));
  if (slot.base) munmap(slot.base - guard, slot.size + 2 * guard);
  slot.size = round_up(size + size / 2, page);
  void* memory = mmap(nullptr, slot.size + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    slot = Slot{nullptr, 0, slot.cells, slot.cell_count};
    return false;
  }
  slot.base = static_cast<char*>(memory) + guard;
  return mprotect(slot.base, slot.size, PROT_READ | PROT_WRITE) == 0;
}

// Room for `size` bytes, up to 15 bytes and `padding` before the guard; null when there is no memory. What
// surrounds it is filled with 0xFF.
extern "C" __attribute__((visibility("default"))) char* mcpu_place(u32 index, u64 size, u64 padding) {
  if (index >= max_slots) return nullptr;
  Slot& slot = slots[index];
  const u64 needed = size + 2 * padding + 16;
  if (slot.size < needed && !reserve(slot, needed)) return nullptr;
  char* begin = slot.base + (slot.size - padding - size) / 16 * 16;
  memset(begin + size, 0xff, u64(slot.base + slot.size - begin) - size);
  memset(begin - padding, 0xff, padding);
  return begin;
}

// `count` cells to watch uses with. Old contents may stay: they belong to threadgroups of earlier launches.
extern "C" __attribute__((visibility("default"))) Cell* mcpu_cells(u32 index, u64 count) {
  if (index >= max_slots) return nullptr;
  Slot& slot = slots[index];
  if (slot.cell_count < count) {
    free(slot.cells);
    slot.cells = static_cast<Cell*>(calloc(count, sizeof(Cell)));
    slot.cell_count = slot.cells ? count : 0;
  }
  return slot.cells;
}

}  // namespace metal_cpu
