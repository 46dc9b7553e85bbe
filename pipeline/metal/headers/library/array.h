// <metal_array>: array<T, N>.
#pragma once
#include "traits.h"

namespace metal {

template <class T, size_t N>
struct array {
  using value_type = T;

  METAL_CPU_INLINE constexpr T& operator[](size_t i) { return elements[i]; }
  METAL_CPU_INLINE constexpr const T& operator[](size_t i) const { return elements[i]; }
#ifdef METAL_CPU_SPACES
  constexpr const __constant T& operator[](size_t i) const __constant { return elements[i]; }
#endif
  METAL_CPU_INLINE constexpr T& front() { return elements[0]; }
  METAL_CPU_INLINE constexpr T& back() { return elements[N - 1]; }
  METAL_CPU_INLINE constexpr T* data() { return elements; }
  METAL_CPU_INLINE constexpr const T* data() const { return elements; }
  METAL_CPU_INLINE constexpr size_t size() const { return N; }
  METAL_CPU_INLINE constexpr bool empty() const { return N == 0; }
  METAL_CPU_INLINE constexpr T* begin() { return elements; }
  METAL_CPU_INLINE constexpr const T* begin() const { return elements; }
  METAL_CPU_INLINE constexpr T* end() { return elements + N; }
  METAL_CPU_INLINE constexpr const T* end() const { return elements + N; }

  T elements[N];
};

}  // namespace metal
