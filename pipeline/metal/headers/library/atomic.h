// <metal_atomic>. One operating-system thread runs all Metal threads, so an atomic operation is a plain one; order
// between threadgroups is whatever the launch chose. No atomic is smaller than four bytes.
#pragma once
#include "execution.h"

namespace metal {

enum memory_order {
  memory_order_relaxed,
  memory_order_acquire,
  memory_order_release,
  memory_order_acq_rel,
  memory_order_seq_cst,
};
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };

template <class T>
struct alignas(sizeof(T) < 4 ? 4 : sizeof(T)) atomic {
  T value;
};
static_assert(sizeof(atomic<bool>) == 4, "atomic_bool is a word");

using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_float = atomic<float>;
using atomic_ulong = atomic<ulong>;

}  // namespace metal

namespace metal_cpu {

// The value of an atomic. The hardware rounds an address that is not a multiple of four down (pytorch #195074). To a
// checked kernel an atomic operation is one access, not a load and a store.
#define METAL_CPU_CALLER __builtin_return_address(0)
#ifndef METAL_CPU_SPACES
template <class T>
METAL_CPU_RUNTIME T& value_of(const volatile metal::atomic<T>* object, void* caller) {
  T* value = reinterpret_cast<T*>(reinterpret_cast<ulong>(object) & ~3ul);
#ifdef METAL_CPU_CHECKED
  mcpu_atomic(object, sizeof(T), caller);
#else
  (void)caller;
#endif
  return *value;
}
#else
template <class T>
T& value_of(const volatile metal::atomic<T>* object, void* caller);
#endif

}  // namespace metal_cpu

namespace metal {

// The operand is not deduced: atomic_fetch_add_explicit(p, 1, ...) on an atomic_uint adds 1u.
#define METAL_CPU_FETCH(NAME, RESULT)                                                                               \
  template <class T>                                                                                                \
  METAL_CPU_RUNTIME T atomic_fetch_##NAME##_explicit(volatile atomic<T>* object, typename metal_cpu::identity<T>::type b, \
                                                    memory_order) {                                                 \
    T& value = metal_cpu::value_of(object, METAL_CPU_CALLER);                                                                         \
    const T a = value;                                                                                              \
    value = T(RESULT);                                                                                              \
    return a;                                                                                                       \
  }
METAL_CPU_FETCH(add, a + b)
METAL_CPU_FETCH(sub, a - b)
METAL_CPU_FETCH(max, b > a ? b : a)
METAL_CPU_FETCH(min, b < a ? b : a)
METAL_CPU_FETCH(or, a | b)
METAL_CPU_FETCH(and, a & b)
METAL_CPU_FETCH(xor, a ^ b)
#undef METAL_CPU_FETCH

template <class T>
METAL_CPU_RUNTIME T atomic_load_explicit(const volatile atomic<T>* object, memory_order) {
  return metal_cpu::value_of(object, METAL_CPU_CALLER);
}
template <class T>
METAL_CPU_RUNTIME void atomic_store_explicit(volatile atomic<T>* object, typename metal_cpu::identity<T>::type desired,
                                            memory_order) {
  metal_cpu::value_of(object, METAL_CPU_CALLER) = desired;
}
template <class T>
METAL_CPU_RUNTIME T atomic_exchange_explicit(volatile atomic<T>* object, typename metal_cpu::identity<T>::type desired,
                                            memory_order) {
  T& value = metal_cpu::value_of(object, METAL_CPU_CALLER);
  const T old = value;
  value = desired;
  return old;
}
// Compares bits, as the hardware does: -0.0 is not 0.0, and a NaN equals itself.
template <class T>
METAL_CPU_RUNTIME bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* object,
                                                             typename metal_cpu::identity<T>::type* expected,
                                                            typename metal_cpu::identity<T>::type desired,
                                                            memory_order, memory_order) {
  T& value = metal_cpu::value_of(object, METAL_CPU_CALLER);
  T old = value;
  if (__builtin_memcmp(&old, expected, sizeof(T)) == 0) {
    value = desired;
    return true;
  }
  *expected = old;
  return false;
}

// 64-bit: minimum and maximum only, without a result (MSL specification, 6.15.4.6).
METAL_CPU_RUNTIME void atomic_max_explicit(volatile atomic_ulong* object, ulong operand, memory_order) {
  ulong& value = metal_cpu::value_of(object, METAL_CPU_CALLER);
  if (operand > value) value = operand;
}
METAL_CPU_RUNTIME void atomic_min_explicit(volatile atomic_ulong* object, ulong operand, memory_order) {
  ulong& value = metal_cpu::value_of(object, METAL_CPU_CALLER);
  if (operand < value) value = operand;
}

METAL_CPU_INLINE void atomic_thread_fence(mem_flags, memory_order, thread_scope = thread_scope_device) {}

}  // namespace metal
#undef METAL_CPU_CALLER
