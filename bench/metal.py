"""Metal on the CPU: what shaders cost to compile, and how kernels compare with torch on one thread.

Run with `python -m bench.metal`. Everything is compiled into a temporary cache. Times are processor seconds, of this
process and the compilers it starts, so that a busy machine matters less; rates are ratios to torch doing the same.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from pipeline.metal import Cache, Compilation, Launch, Library, compile_shader

FLOATS = {"float": torch.float32, "half": torch.float16, "bfloat": torch.bfloat16}
INTEGERS = {"int": torch.int32, "long": torch.int64, "uchar": torch.uint8, "short": torch.int16, "char": torch.int8}
FLAVOURS = ("dense_scalar", "dense", "strided")
SIDE = 2000  # of the square matrices

SHADER = """
#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/reduction_utils.h>
using namespace metal;
struct square_functor { template <typename T> T operator()(const T x) { return T(x * x); } };
struct log1p_functor { template <typename T> T operator()(const T x) { return T(c10::metal::log1p(float(x))); } };
struct plus_functor { template <typename T> T operator()(const T a, const T b) { return T(a + b); } };
kernel void row_sum(device float* o, constant float* x, constant long& width, uint i [[thread_position_in_threadgroup]],
                    uint n [[threads_per_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    threadgroup float shared[32];
    float sum = 0;
    for (long at = i; at < width; at += n) sum += x[g * width + at];
    sum = c10::metal::threadgroup_sum<float>(shared, sum, i, n);
    if (i == 0) o[g] = sum;
}
"""


def shader(types: list[str]) -> str:
    lines = [f"REGISTER_UNARY_OP({name}, {t}, {t});" for name in ("square", "log1p") for t in types]
    return SHADER + "\n".join([*lines, *(f"REGISTER_BINARY_OP(plus, {t}, {t});" for t in types)])


def processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def cost(function: Callable[[], object], repeats: int = 1) -> float:
    """Processor seconds of a call, the best of some; a call is repeated until it takes long enough to be measured."""
    best = float("inf")
    for _ in range(repeats):
        calls, start = 0, processor_seconds()
        while (spent := processor_seconds() - start) < 0.05:
            function()
            calls += 1
        best = min(best, spent / calls)
    return best


def compile_costs(cache: Cache) -> None:
    print("compiling, processor seconds")
    empty = "kernel void k(device float* o) { o[0] = 1; }"
    print(f"  first use: library, runtime, one kernel     {cost(partial(compile_shader, empty, cache=cache)):6.2f}")
    for checked in (False, True):
        compilation = Compilation(checked=checked)
        compile_shader(empty, cache=cache, compilation=compilation)
        for name, types in (("one type", ["float"]), ("all types", [*FLOATS, *INTEGERS])):
            build = partial(compile_shader, shader(types), cache=cache, compilation=compilation)
            cold = cost(build)
            kind = "checked" if checked else "plain"
            print(
                f"  {kind:7s} {name:9s} {len(dir(build())):4d} kernels: cold {cold:6.2f}, again {cost(build, 3):6.4f}"
            )


def byte_strides(tensor: torch.Tensor) -> list[int]:
    return [stride * tensor.element_size() for stride in reversed(tensor.stride())]


def throughput(library: Library) -> None:
    print("elements per second, as a ratio to torch (1.00 is as fast)")
    for metal, dtype in FLOATS.items():
        x = (torch.rand(SIDE, SIDE) * 10).to(dtype)
        o = torch.empty_like(x)
        turned = x.t()
        layout = ([SIDE, SIDE], byte_strides(turned), byte_strides(o), [2])
        for name, reference in (("square", torch.square), ("log1p", torch.log1p)):
            kernels = {flavour: getattr(library, f"{name}_{flavour}_{metal}_{metal}") for flavour in FLAVOURS}
            theirs = cost(partial(reference, x, out=o), 3)
            theirs_turned = cost(partial(reference, turned, out=o), 3)
            ratios = {
                "dense": theirs / cost(partial(kernels["dense_scalar"], o, x), 3),
                "ilp": theirs / cost(partial(kernels["dense"], o, x, x.numel(), threads=x.numel() // 4), 3),
                "strided": theirs_turned
                / cost(partial(kernels["strided"], o, turned, *layout, threads=(SIDE, SIDE), group_size=(1000, 1)), 3),
            }
            print(f"  {name:7s} {metal:7s}" + "".join(f"  {flavour} {ratio:5.2f}" for flavour, ratio in ratios.items()))


def threads(plain: Library, checked: Library) -> None:
    print("nanoseconds a thread")
    x, o = torch.rand(100_000), torch.empty(100_000)
    rows = torch.empty(100)
    for name, library in (("plain", plain), ("checked", checked)):
        dense = cost(partial(library.square_dense_scalar_float_float, o, x), 3) / len(x)
        count = 100 * 1000
        sums = cost(partial(library.row_sum, rows, x, 1000, threads=count, group_size=1000), 3) / count
        print(f"  {name:7s} elementwise {dense * 1e9:6.2f}, a sum over 1000 threads with barriers {sums * 1e9:6.1f}")


def launches(plain: Library, checked: Library) -> None:
    print("microseconds a launch")
    x, o = torch.rand(4), torch.empty(4)
    for name, library, launch in (
        ("plain", plain, Launch()),
        ("isolated", plain, Launch(isolate=True)),
        ("checked", checked, Launch()),
    ):
        each = cost(partial(library.square_dense_scalar_float_float, o, x, launch=launch), 3)
        print(f"  {name:8s} {each * 1e6:6.1f}")


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        compile_costs(cache)
        source = shader([*FLOATS, *INTEGERS])
        plain = compile_shader(source, cache=cache)
        checked = compile_shader(source, cache=cache, compilation=Compilation(checked=True))
        throughput(plain)
        threads(plain, checked)
        launches(plain, checked)


if __name__ == "__main__":
    main()
