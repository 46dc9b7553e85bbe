// The Metal standard library on a CPU: everything a translated shader is compiled against.
#pragma once
#include "array.h"
#include "atomic.h"
#include "base.h"
#include "bfloat.h"
#include "execution.h"
#include "geometric.h"
#include "integer.h"
#include "limits.h"
#include "math.h"
#include "matrix.h"
#include "relational.h"
#include "simdgroup.h"
#include "simdgroup_matrix.h"
#include "traits.h"
#include "vec.h"

// Address spaces. To run, only the difference between constant and the others is kept: it keeps overloads apart and
// writes to constant memory out.
#ifdef METAL_CPU_SPACES
#define device __global
#define constant __constant
#define threadgroup __local
#define kernel  // and thread by the reading (spaces.py)
#else
#define device
#define constant const
#define thread
#define threadgroup
#define kernel METAL_CPU_KERNEL
#endif
