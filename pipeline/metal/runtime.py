"""The runtime's C interface (runtime/launch.h) in ctypes."""

from __future__ import annotations

import ctypes
import ctypes.util
from ctypes import POINTER, Structure, c_char_p, c_uint32, c_uint64, c_void_p
from pathlib import Path

from pipeline.metal.report import Note

MAX_BUFFERS = 31
MAX_EVENTS = 64
ORDERS = ("forward", "reverse", "shuffled")
NOTES = (
    Note.INACTIVE_LANE_READ,
    Note.BARRIER_DIVERGENCE,
    Note.SIMD_DIVERGENCE,
    Note.DIVISION_BY_ZERO,
    Note.OUT_OF_BOUNDS,
    Note.OUTSIDE_VIEW,
    Note.UNWRITTEN_READ,
    Note.THREADGROUP_RACE,
    Note.DEVICE_RACE,
    Note.SHIFT_OUT_OF_RANGE,
    Note.CONVERSION_OVERFLOW,
    Note.INDEX_OUT_OF_BOUNDS,
    Note.MISALIGNED,
)
FINISHED, SIGNAL, OUT_OF_BOUNDS, THREADGROUP_MEMORY, STACK = range(5)


class Region(Structure):
    _fields_ = (
        ("begin", c_uint64),
        ("end", c_uint64),
        ("pad_begin", c_uint64),
        ("pad_end", c_uint64),
        ("view", c_void_p),
        ("cells", c_void_p),
        ("granule", c_uint64),
    )


class Request(Structure):
    _fields_ = (
        ("entry", c_void_p),
        ("reset", c_void_p),
        ("buffers", c_void_p * MAX_BUFFERS),
        ("grid", c_uint32 * 3),
        ("threadgroup", c_uint32 * 3),
        ("threadgroup_bytes", c_uint32 * MAX_BUFFERS),
        ("order", c_uint32),
        ("seed", c_uint32),
        ("flush_subnormals", c_uint32),
        ("timeout_ms", c_uint32),
        ("checked", c_uint32),
        ("region_count", c_uint32),
        ("regions", POINTER(Region)),
    )


class RawSite(Structure):
    _fields_ = (("operation", c_uint32), ("line", c_uint32), ("file", c_char_p), ("flags", c_uint32))


class RawAccess(Structure):
    _fields_ = (
        ("address", c_uint64),
        ("code", c_uint64),
        ("variable", c_char_p),
        ("offset", c_uint32),
        ("size", c_uint32),
        ("write", c_uint32),
    )


class RawEvent(Structure):
    _fields_ = (
        ("note", c_uint32),
        ("thread", c_uint32),
        ("group", c_uint32 * 3),
        ("other_thread", c_uint32),
        ("other_group", c_uint32 * 3),
        ("site", RawSite),
        ("other_site", RawSite),
        ("access", RawAccess),
        ("other_access", RawAccess),
        ("count", c_uint64),
    )


class Outcome(Structure):
    _fields_ = (
        ("stop", c_uint32),
        ("signal", c_uint32),
        ("fault_address", c_uint64),
        ("stopped_group", c_uint32 * 3),
        ("threadgroup_memory", c_uint32),
        ("event_count", c_uint32),
        ("events", RawEvent * MAX_EVENTS),
    )


class Runtime:
    """The loaded runtime; one serves a whole process."""

    def __init__(self, path: Path) -> None:
        math = ctypes.util.find_library("m")
        if math:
            ctypes.CDLL(math, mode=ctypes.RTLD_GLOBAL)  # where shaders find sin and its like
        self._library = ctypes.PyDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self._library.mcpu_launch.argtypes = (POINTER(Request),)
        self._library.mcpu_launch.restype = None
        self._outcome = Outcome.in_dll(self._library, "mcpu_outcome")
        self._library.mcpu_place.argtypes = (c_uint32, c_uint64, c_uint64)
        self._library.mcpu_place.restype = c_void_p
        self._library.mcpu_cells.argtypes = (c_uint32, c_uint64)
        self._library.mcpu_cells.restype = c_void_p

    def launch(self, request: Request) -> Outcome:
        """Run a launch to its end. The outcome is overwritten by the next one."""
        self._library.mcpu_launch(ctypes.byref(request))
        return self._outcome

    def place(self, slot: int, size: int, padding: int) -> int:
        """The address of `size` bytes of memory of their own, the same for the same slot while they fit."""
        address = self._library.mcpu_place(slot, size, padding)
        if not address:
            raise MemoryError(f"no room for a copy of {size} bytes")
        return int(address)

    def cells(self, slot: int, count: int) -> int | None:
        """Where uses of memory are remembered, `count` pieces of it."""
        address: int | None = self._library.mcpu_cells(slot, count)
        return address


_loaded: list[Runtime] = []


def load(path: Path) -> Runtime:
    """The runtime of this process: the first that was asked for, since shaders find its functions by name."""
    if not _loaded:
        _loaded.append(Runtime(path))
    return _loaded[0]
