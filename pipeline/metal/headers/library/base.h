// Scalar types of the Metal Shading Language (MSL specification, 2.1) and the attributes this library is written with.
#pragma once
#ifdef METAL_CPU_SPACES
#include "spaces.h"
#endif

#define METAL_CPU_INLINE inline __attribute__((always_inline))

// Checked shaders have every load and store observed, except those of this library's own state. A function that is
// exempt must not be inlined into one that is not.
#ifdef METAL_CPU_CHECKED
#define METAL_CPU_RUNTIME inline __attribute__((no_sanitize("thread")))
#define METAL_CPU_KERNEL inline
#define METAL_CPU_ENTRY __attribute__((visibility("default"), no_sanitize("thread")))
#else
#define METAL_CPU_RUNTIME METAL_CPU_INLINE
#define METAL_CPU_KERNEL METAL_CPU_INLINE
#define METAL_CPU_ENTRY __attribute__((visibility("default")))
#endif

// Where address spaces are checked, a class says itself that it can be copied out of constant memory.
#ifdef METAL_CPU_SPACES
#define METAL_CPU_COPIES(TYPE, ...)                                                   \
  constexpr TYPE(const TYPE&) = default;                                              \
  constexpr TYPE& operator=(const TYPE&) = default;                                   \
  constexpr TYPE(const __constant TYPE& other) __VA_ARGS__                            \
  constexpr TYPE& operator=(const __constant TYPE& other) { return *this = TYPE(other); }
#else
#define METAL_CPU_COPIES(TYPE, ...)
#endif

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;

#ifndef METAL_CPU_SPACES
typedef _Float16 half;
#endif

static_assert(sizeof(long) == 8, "MSL's long has 64 bits");
static_assert(char(-1) < 0, "MSL's char is signed");
