"""Compiled shaders as torch.mps.compile_shader gives them: kernels by their host names, called with tensors."""

from __future__ import annotations

import ctypes
import math
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

import torch

from pipeline.metal import runtime
from pipeline.metal.arguments import Bound, Casts, bind, sizes
from pipeline.metal.build import Built, Shader, build
from pipeline.metal.cache import Cache, default_folder
from pipeline.metal.error_buffer import empty_error_buffer, raise_first_error
from pipeline.metal.memory import Memory
from pipeline.metal.options import Compilation, Launch
from pipeline.metal.outcome import read_outcome
from pipeline.metal.report import Access, Event, Note, Report
from pipeline.metal.signature import Kernel

MAX_THREADS = 1024  # per threadgroup
SIMD_WIDTH = 32
MAX_THREADGROUP_MEMORY = 32 * 1024  # bytes
IN_ORDER = Launch()

_one_at_a_time = threading.RLock()


def compile_shader(
    source: str,
    *,
    include: Sequence[str | PathLike[str]] = (),
    only: str | None = None,
    name: str = "program_source",
    compilation: Compilation = Compilation(),
    cache: Cache | None = None,
) -> Library:
    """Compile Metal Shading Language for the CPU, as torch.mps.compile_shader does for the GPU.

    `include` are folders that hold `c10/metal/...`; the installed torch's headers when there are none. `only` is a
    regular expression: kernels whose host name it is not found in are left out. Errors in the shader raise ShaderError,
    a SyntaxError, and call the text `name`.
    """
    (library,) = compile_shader_each(source, [compilation], include=include, only=only, name=name, cache=cache)
    return library


def compile_shader_each(
    source: str,
    compilations: Sequence[Compilation],
    *,
    include: Sequence[str | PathLike[str]] = (),
    only: str | None = None,
    name: str = "program_source",
    cache: Cache | None = None,
) -> list[Library]:
    """`compile_shader` in several ways at once, which costs less than one after the other.

    Raises ValueError for compilations with different compilers or Metal versions.
    """
    return _compile(Shader(source, name), include, only, compilations, cache)


def compile_file(
    path: str | PathLike[str],
    *,
    include: Sequence[str | PathLike[str]] = (),
    only: str | None = None,
    compilation: Compilation = Compilation(),
    cache: Cache | None = None,
) -> Library:
    """`compile_shader` for a file: errors name it, and quoted includes are looked for beside it."""
    file = Path(path)
    shader = Shader(file.read_text(), fspath(path), file.parent.resolve())
    (library,) = _compile(shader, include, only, [compilation], cache)
    return library


def _compile(
    shader: Shader,
    include: Sequence[str | PathLike[str]],
    only: str | None,
    compilations: Sequence[Compilation],
    cache: Cache | None,
) -> list[Library]:
    folders = [Path(folder) for folder in include] or [Path(torch.__file__).parent / "include"]
    pattern = re.compile(only) if only is not None else None
    built = build(shader, folders, pattern, compilations, cache or Cache(default_folder()))
    return [Library(each, compilation) for each, compilation in zip(built, compilations, strict=True)]


class Library:
    """A compiled shader: its kernels are attributes, `dir()` lists their host names."""

    def __init__(self, built: Built, compilation: Compilation) -> None:
        self._built = built
        self._compilation = compilation
        self._runtime = runtime.load(built.runtime)
        self._parts = [ctypes.PyDLL(str(part)) for part in built.parts]
        self._kernels = {kernel.name: kernel for kernel in built.kernels}

    def __dir__(self) -> list[str]:
        return list(self._kernels)

    def __getattr__(self, name: str) -> BoundKernel:
        if name.startswith("_") and name not in self.__dict__.get("_kernels", {}):
            raise AttributeError(name)
        if name not in self._kernels:
            raise RuntimeError(f"Failed to create function state object for: {name}")
        kernel = BoundKernel(self, self._kernels[name])
        self.__dict__[name] = kernel
        return kernel


class BoundKernel:
    """One kernel of a library, ready to be launched."""

    def __init__(self, library: Library, kernel: Kernel) -> None:
        self.kernel = kernel
        self._runtime = library._runtime
        part = library._parts[kernel.part]
        self._path = library._built.parts[kernel.part]
        self._checked = library._compilation.checked
        self._entry = ctypes.cast(getattr(part, kernel.symbol), ctypes.c_void_p).value
        self._reset = ctypes.cast(part.mcpu_reset, ctypes.c_void_p).value

        extents = getattr(part, f"{kernel.symbol}_extents")
        extents.restype = ctypes.POINTER(ctypes.c_uint32)
        sizes_of = extents()
        # Bytes of what a parameter refers to, by the index of its argument.
        self._least = {
            parameter.index: sizes_of[2 * position]
            for position, parameter in enumerate(kernel.parameters)
            if parameter.kind == "buffer" and parameter.is_reference
        }

    @property
    def max_threads_per_threadgroup(self) -> int:
        return self.kernel.max_threads

    @property
    def thread_execution_width(self) -> int:
        return SIMD_WIDTH

    def __call__(
        self,
        *args: object,
        threads: int | Sequence[int] | None = None,
        group_size: int | Sequence[int] | None = None,
        arg_casts: str | dict[int, str] | None = None,
        error_buf_idx: int | None = None,
        launch: Launch = IN_ORDER,
    ) -> Report:
        """Run the kernel over `threads` threads in threadgroups of `group_size`, each one to three numbers.

        Without `threads`, as many as the first tensor has elements. Arguments are tensors, bound with their offset;
        ints (as int64), floats (as float32) and lists of either, changed by `arg_casts`; lists of tensors, bound as
        their addresses; bytes, as they are. What TORCH_REPORT_ERROR writes to the buffer bound at `error_buf_idx` is
        raised as torch.AcceleratorError. Raises what torch.mps raises, and KernelCrash.
        """
        grid, group = sizes(threads, "threads"), sizes(group_size, "group_size")
        casts = Casts(arg_casts)
        bound = [bind(index, value, casts, self._least.get(index, 0)) for index, value in enumerate(args)]
        errors = empty_error_buffer()
        if error_buf_idx is not None:
            bound += [Bound()] * (error_buf_idx + 1 - len(bound))
            bound[error_buf_idx] = Bound((errors,))
        if grid is None:
            grid = next(((value.numel(),) for value in args if isinstance(value, torch.Tensor)), None)
        if grid is None:
            raise RuntimeError("Number of threads is undefined or has wrong dimension")
        if group is not None and len(group) != len(grid):
            raise RuntimeError("threads and group_size must have the same number of dimensions")
        limit = self.max_threads_per_threadgroup
        if group is None:
            group = (min(grid[0], limit) or 1,) if len(grid) == 1 else (limit,)
        if not 0 < math.prod(group) <= limit:
            raise ValueError(f"Threadgroup size exceeds {limit} limit" if math.prod(group) else "Threadgroup size is 0")
        self._require_arguments(len(bound))
        if 0 in grid:
            return Report(self.kernel.name)
        with _one_at_a_time:
            memory = Memory(self._runtime, bound, isolate=launch.isolate or self._checked, checked=self._checked)
            request = self._request(bound, memory, launch)
            request.grid[:] = (*grid, 1, 1)[:3]
            request.threadgroup[:] = (*group, 1, 1)[:3]
            outcome = self._runtime.launch(request)
            memory.write_back()
            report = read_outcome(self.kernel.name, outcome, memory, self._path)
        raise_first_error(errors)
        return replace(report, events=(*self._short_arguments(bound), *report.events))

    def _short_arguments(self, bound: list[Bound]) -> Iterator[Event]:
        for index, least in self._least.items():
            room = bound[index].room
            if room < least:
                access = Access(f"argument {index}", room, least - room, write=False, arguments=(index,))
                yield Event(Note.ARGUMENT_TOO_SMALL, 0, (0, 0, 0), access=access)

    def _require_arguments(self, count: int) -> None:
        needed = max((p.index + 1 for p in self.kernel.parameters if p.kind == "buffer"), default=0)
        if count < needed:
            raise RuntimeError(f"kernel {self.kernel.name} takes {needed} arguments, got {count}")
        if count > runtime.MAX_BUFFERS:
            raise RuntimeError(f"Metal binds {runtime.MAX_BUFFERS} arguments, got {count}")

    def _request(self, bound: list[Bound], memory: Memory, launch: Launch) -> runtime.Request:
        request = runtime.Request()
        request.entry = self._entry
        request.reset = self._reset
        request.buffers[: len(bound)] = memory.addresses
        if launch.align_arguments:
            self._align(bound, request)
        for index, size in enumerate(launch.threadgroup_memory):
            request.threadgroup_bytes[index] = size
        request.order = runtime.ORDERS.index(launch.order)
        request.seed = launch.seed
        request.flush_subnormals = launch.flush_subnormals
        request.timeout_ms = math.ceil(launch.timeout * 1000) if launch.timeout else 0
        if self._checked:
            request.checked = 1
            regions = memory.regions()
            request.region_count = len(regions)
            request.regions = regions
        return request

    def _align(self, bound: list[Bound], request: runtime.Request) -> None:
        """A tensor bound to `constant T&` starts at a multiple of four bytes of its storage (pytorch #182839)."""
        for parameter in self.kernel.parameters:
            if parameter.kind != "buffer" or not parameter.is_reference or parameter.space != "constant":
                continue
            item = bound[parameter.index]
            if item.pointers is None and item.tensors:
                tensor = item.tensors[0]
                request.buffers[parameter.index] -= tensor.storage_offset() * tensor.element_size() % 4
