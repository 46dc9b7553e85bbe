"""What can be chosen when a shader is compiled and when a kernel is launched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Compilation:
    """How a shader is compiled.

    `fast_math`: unqualified math functions are those of metal::fast, as with PYTORCH_MPS_FAST_MATH=1.
    `metal_version`: __METAL_VERSION__; from 400 on shaders are C++17, before that C++14.
    `contract`: a * b + c in one expression becomes a fused operation, as Metal compilers may do.
    `checked`: every access to memory is observed while a kernel runs (see Report).
    `compiler`: a clang++ to use instead of the one in the ziglang package.
    """

    fast_math: bool = False
    metal_version: int = 310
    contract: bool = False
    checked: bool = False
    compiler: str | None = None


@dataclass(frozen=True)
class Launch:
    """How the threads of one launch run.

    `order`: in which order the threads of a threadgroup run between two barriers, and the threadgroups of the grid;
    `seed` chooses a shuffled order. What a correct kernel writes does not depend on it.
    `flush_subnormals`: subnormal floats are zeros in arithmetic and comparisons, as on Apple GPUs.
    `threadgroup_memory`: bytes for the arguments [[threadgroup(0)]], [[threadgroup(1)]], ...
    `align_arguments`: a misaligned offset of a bound tensor is rounded down to four bytes where Metal does so.
    `isolate`: tensors are copied to where an access beyond them faults, and back; a checked kernel always does so.
    `timeout`: seconds after which a kernel that still runs is stopped; None lets it run.
    """

    order: Literal["forward", "reverse", "shuffled"] = "forward"
    seed: int = 0
    flush_subnormals: bool = True
    threadgroup_memory: tuple[int, ...] = ()
    align_arguments: bool = True
    isolate: bool = False
    timeout: float | None = 60.0
