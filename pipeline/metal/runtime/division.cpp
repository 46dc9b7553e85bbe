#include "division.h"

#if !defined(__x86_64__)

namespace metal_cpu {
Division finish_division(void*) { return Division::none; }  // arm64 does not trap
}  // namespace metal_cpu

#else

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <string.h>

#include "abi.h"

namespace metal_cpu {

// The registers of the interrupted code by their number in an instruction.
struct Registers {
  long long* by_number[16];
  long long* instruction;
};

static Registers registers_of(void* context) {
#if defined(__APPLE__)
  auto& s = static_cast<ucontext_t*>(context)->uc_mcontext->__ss;
  auto at = [](unsigned long long& r) { return reinterpret_cast<long long*>(&r); };
  return {{at(s.__rax), at(s.__rcx), at(s.__rdx), at(s.__rbx), at(s.__rsp), at(s.__rbp), at(s.__rsi), at(s.__rdi),
           at(s.__r8), at(s.__r9), at(s.__r10), at(s.__r11), at(s.__r12), at(s.__r13), at(s.__r14), at(s.__r15)},
          at(s.__rip)};
#else
  auto& g = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  return {{&g[REG_RAX], &g[REG_RCX], &g[REG_RDX], &g[REG_RBX], &g[REG_RSP], &g[REG_RBP], &g[REG_RSI], &g[REG_RDI],
           &g[REG_R8], &g[REG_R9], &g[REG_R10], &g[REG_R11], &g[REG_R12], &g[REG_R13], &g[REG_R14], &g[REG_R15]},
          &g[REG_RIP]};
#endif
}

// DIV and IDIV: [66] [REX] F6|F7 ModRM [SIB] [displacement], dividing (r)dx:(r)ax.
struct Instruction {
  unsigned size;  // of the operands, in bytes
  long long divisor;
  const unsigned char* end;
};

static bool decode(const unsigned char* code, const Registers& registers, Instruction& division) {
  bool operand_prefix = false;
  unsigned rex = 0;
  if (*code == 0x66) operand_prefix = true, ++code;
  if ((*code & 0xf0) == 0x40) rex = *code++;
  if (*code != 0xf6 && *code != 0xf7) return false;
  division.size = *code++ == 0xf6 ? 1 : rex & 8 ? 8 : operand_prefix ? 2 : 4;
  const unsigned mod = *code >> 6, operation = *code >> 3 & 7, rm = (*code & 7) | (rex & 1) << 3;
  ++code;
  if (operation < 6) return false;
  const void* operand;
  long long address = 0;
  if (mod == 3) {
    const bool high_byte = division.size == 1 && !rex && rm >= 4;  // ah, ch, dh, bh
    operand = high_byte ? reinterpret_cast<char*>(registers.by_number[rm - 4]) + 1
                        : reinterpret_cast<char*>(registers.by_number[rm]);
  } else {
    bool relative = false;
    if ((rm & 7) == 4) {
      const unsigned sib = *code++, index = (sib >> 3 & 7) | (rex & 2) << 2, base = (sib & 7) | (rex & 1) << 3;
      if (index != 4) address += *registers.by_number[index] << (sib >> 6);
      if ((base & 7) == 5 && mod == 0) {
        int displacement;
        memcpy(&displacement, code, 4);
        address += displacement, code += 4;
      } else {
        address += *registers.by_number[base];
      }
    } else if (mod == 0 && (rm & 7) == 5) {
      int displacement;
      memcpy(&displacement, code, 4);
      address = displacement, code += 4, relative = true;
    } else {
      address = *registers.by_number[rm];
    }
    if (mod == 1) address += static_cast<signed char>(*code++);
    if (mod == 2) {
      int displacement;
      memcpy(&displacement, code, 4);
      address += displacement, code += 4;
    }
    if (relative) address += reinterpret_cast<long long>(code);
    operand = reinterpret_cast<const void*>(address);
  }
  division.divisor = 0;
  memcpy(&division.divisor, operand, division.size);
  division.end = code;
  return true;
}

// Writes the low `size` bytes of a register; a write of four clears the upper half.
static void write(long long* target, long long value, unsigned size) {
  if (size == 4) {
    *target = value & 0xffffffffll;
  } else {
    memcpy(target, &value, size);
  }
}

Division finish_division(void* context) {
  const Registers registers = registers_of(context);
  Instruction division;
  if (!decode(reinterpret_cast<const unsigned char*>(*registers.instruction), registers, division)) return Division::none;
  long long *const rax = registers.by_number[0], *const rdx = registers.by_number[2];
  const long long dividend = *rax;
  const bool by_zero = division.divisor == 0;
  const long long quotient = by_zero ? -1 : dividend, remainder = by_zero ? dividend : 0;
  if (division.size == 1) {
    const long long pair = (quotient & 0xff) | (remainder & 0xff) << 8;
    write(rax, pair, 2);
  } else {
    write(rax, quotient, division.size);
    write(rdx, remainder, division.size);
  }
  *registers.instruction = reinterpret_cast<long long>(division.end);
  return by_zero ? Division::by_zero : Division::overflow;
}

}  // namespace metal_cpu

#endif
