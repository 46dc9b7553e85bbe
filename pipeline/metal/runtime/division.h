// Integer division by zero, and of the smallest integer by -1: no fault on a GPU, a trap on x86.
#pragma once

namespace metal_cpu {

enum class Division { none, by_zero, overflow };

// Gives the instruction that trapped its result and steps over it: x / 0 has all bits set, x % 0 is x, and the quotient
// that does not fit wraps to itself with remainder 0. `none` where the trap was something else. `context` is the
// ucontext_t of the signal.
Division finish_division(void* context);

}  // namespace metal_cpu
