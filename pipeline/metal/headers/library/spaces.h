// Checking address spaces. The library is then read as C++ for OpenCL 2021, whose address spaces are those of Metal, and
// nothing is compiled: only types count, and a few definitions differ where METAL_CPU_SPACES says so.
#pragma once
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

// Words that OpenCL takes and Metal does not.
#define half _Float16
#define global metal_cpu_name_global
#define local metal_cpu_name_local
#define generic metal_cpu_name_generic
#define pipe metal_cpu_name_pipe
#define atomic_int metal_cpu_name_atomic_int
#define atomic_uint metal_cpu_name_atomic_uint
#define atomic_bool metal_cpu_name_atomic_bool
#define atomic_float metal_cpu_name_atomic_float
#define atomic_ulong metal_cpu_name_atomic_ulong
