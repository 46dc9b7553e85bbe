#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

// Saves the registers that a function must preserve on the current stack, stores the stack pointer in *save, and takes
// up the stack that `to` points into.
extern "C" void mcpu_switch(void** save, void* to);

#if defined(__x86_64__)
// It leaves by a jump: a return would go elsewhere than the processor predicts from the calls on the other stack.
asm(R"(
.text
.globl mcpu_switch
mcpu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
)");
constexpr int return_address = 6;  // its place among the words of a saved frame
constexpr int frame_words = 8;     // the frame and, above it, a word that keeps the stack aligned as after a call
#elif defined(__aarch64__)
#if defined(__APPLE__)
#define MCPU_SWITCH "_mcpu_switch"
#else
#define MCPU_SWITCH "mcpu_switch"
#endif
asm(".text\n.p2align 2\n.globl " MCPU_SWITCH "\n" MCPU_SWITCH ":\n" R"(
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");
constexpr int return_address = 11;  // x30
constexpr int frame_words = 20;
#else
#error "fibers are written for x86-64 and arm64"
#endif

namespace metal_cpu {

static void* scheduler_stack_pointer;

static u64 page_size() {
  static const u64 size = u64(sysconf(_SC_PAGESIZE));
  return size;
}

bool prepare(Fiber& fiber, u32 index, void (*entry)()) {
  if (!fiber.stack) {
    void* memory = mmap(nullptr, fiber_stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    mprotect(memory, page_size(), PROT_NONE);
    fiber.stack = static_cast<char*>(memory);
  }
  // Stacks start at different offsets, or all of them would compete for the same lines of the cache.
  const u64 stagger = index * 21 % 256 * 64;
  u64* frame = reinterpret_cast<u64*>(fiber.stack + fiber_stack_size - stagger) - frame_words;
  for (int i = 0; i < frame_words; ++i) frame[i] = 0;
  frame[return_address] = reinterpret_cast<u64>(entry);
  fiber.stack_pointer = frame;
  return true;
}

void resume(Fiber& fiber) {
  fiber.wait = Wait::running;
  mcpu_switch(&scheduler_stack_pointer, fiber.stack_pointer);
}

void yield(Fiber& fiber) { mcpu_switch(&fiber.stack_pointer, scheduler_stack_pointer); }

bool overflowed(const Fiber& fiber, const void* address) {
  const char* at = static_cast<const char*>(address);
  return fiber.stack && at >= fiber.stack && at < fiber.stack + page_size();
}

}  // namespace metal_cpu
