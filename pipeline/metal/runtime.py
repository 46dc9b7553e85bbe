"""The runtime's C interface (runtime/launch.h) in ctypes."""

from __future__ import annotations

import ctypes
import ctypes.util
import signal
from ctypes import POINTER, Structure, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from functools import cache
from pathlib import Path

from pipeline.metal.report import Event, KernelCrash, Note, Report, Site

MAX_BUFFERS = 31
MAX_EVENTS = 64
ORDERS = ("forward", "reverse", "shuffled")
NOTES = (Note.INACTIVE_LANE_READ, Note.BARRIER_DIVERGENCE, Note.SIMD_DIVERGENCE, Note.DIVISION_BY_ZERO)


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
    )


class _Site(Structure):
    _fields_ = (("operation", c_uint32), ("line", c_uint32), ("file", c_char_p))


class _Event(Structure):
    _fields_ = (
        ("note", c_uint32),
        ("thread", c_uint32),
        ("group", c_uint32 * 3),
        ("other_thread", c_uint32),
        ("site", _Site),
        ("other_site", _Site),
        ("count", c_uint64),
    )


class _Outcome(Structure):
    _fields_ = (
        ("signal", c_int),
        ("stack_overflow", c_uint32),
        ("fault_address", c_uint64),
        ("stopped_thread", c_uint32),
        ("stopped_group", c_uint32 * 3),
        ("threadgroup_memory", c_uint32),
        ("event_count", c_uint32),
        ("events", _Event * MAX_EVENTS),
    )


@cache
def load(path: Path) -> ctypes.PyDLL:
    """The runtime, and the C math library, where shaders find their symbols. One runtime serves a whole process."""
    math = ctypes.util.find_library("m")
    if math:
        ctypes.CDLL(math, mode=ctypes.RTLD_GLOBAL)
    library = ctypes.PyDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    library.mcpu_launch.argtypes = (POINTER(Request), POINTER(_Outcome))
    library.mcpu_launch.restype = None
    return library


def run(runtime: ctypes.PyDLL, kernel: str, request: Request) -> Report:
    """Run one launch to its end. Raises KernelCrash."""
    outcome = _Outcome()
    runtime.mcpu_launch(ctypes.byref(request), ctypes.byref(outcome))
    events = tuple(_event(outcome.events[index]) for index in range(outcome.event_count))
    report = Report(kernel, outcome.threadgroup_memory, events)
    if outcome.signal:
        raise KernelCrash(_crash(kernel, outcome), report)
    return report


def _event(event: _Event) -> Event:
    note = NOTES[event.note]
    paired = note in (Note.BARRIER_DIVERGENCE, Note.SIMD_DIVERGENCE)
    x, y, z = event.group
    return Event(
        note,
        event.thread,
        (x, y, z),
        event.other_thread if paired else None,
        _site(event.site),
        _site(event.other_site),
        event.count,
    )


def _site(site: _Site) -> Site | None:
    return Site(site.file.decode(), site.line) if site.file else None


def _crash(kernel: str, outcome: _Outcome) -> str:
    where = f"in threadgroup {tuple(outcome.stopped_group)}"
    if outcome.stack_overflow:
        return f"kernel {kernel}: a thread needs more than 256 KiB of stack, {where}"
    if outcome.signal == signal.SIGURG:
        return f"kernel {kernel}: still running at the end of its time, {where}"
    name = signal.Signals(outcome.signal).name
    if outcome.signal in (signal.SIGSEGV, signal.SIGBUS):
        return f"kernel {kernel}: access to memory that is not there, at {outcome.fault_address:#x}, {where} ({name})"
    return f"kernel {kernel}: stopped by {name}, {where}"
