// <metal_geometric>: sums in component order, without fused operations.
#pragma once
#include "math.h"

namespace metal {

template <class T>
METAL_CPU_INLINE T dot(vec<T, 2> a, vec<T, 2> b) {
  return T(a.x * b.x + a.y * b.y);
}
template <class T>
METAL_CPU_INLINE T dot(vec<T, 3> a, vec<T, 3> b) {
  return T(a.x * b.x + a.y * b.y + a.z * b.z);
}
template <class T>
METAL_CPU_INLINE T dot(vec<T, 4> a, vec<T, 4> b) {
  return T(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}
template <class T, int N>
METAL_CPU_INLINE T length_squared(vec<T, N> a) {
  return dot(a, a);
}
template <class T, int N>
METAL_CPU_INLINE T length(vec<T, N> a) {
  return sqrt(dot(a, a));
}
template <class T, int N>
METAL_CPU_INLINE T distance(vec<T, N> a, vec<T, N> b) {
  return length(a - b);
}
template <class T, int N>
METAL_CPU_INLINE T distance_squared(vec<T, N> a, vec<T, N> b) {
  return length_squared(a - b);
}
template <class T, int N>
METAL_CPU_INLINE vec<T, N> normalize(vec<T, N> a) {
  return a * rsqrt(dot(a, a));
}
template <class T>
METAL_CPU_INLINE vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {
  return vec<T, 3>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
template <class T, int N>
METAL_CPU_INLINE vec<T, N> reflect(vec<T, N> incident, vec<T, N> normal) {
  return incident - normal * (T(2) * dot(normal, incident));
}

namespace precise {
using metal::distance;
using metal::length;
using metal::normalize;
}  // namespace precise
namespace fast {
using metal::distance;
using metal::length;
using metal::normalize;
}  // namespace fast

}  // namespace metal
