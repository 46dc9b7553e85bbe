"""From what the runtime recorded to a Report: addresses become arguments, instructions become lines."""

from __future__ import annotations

import signal
from pathlib import Path

from pipeline.metal import runtime
from pipeline.metal.lines import line_of
from pipeline.metal.memory import Memory
from pipeline.metal.report import Access, Event, KernelCrash, Note, Report, Site

THREADGROUP_LIMIT = 32 * 1024  # bytes
PAIRED = frozenset({Note.BARRIER_DIVERGENCE, Note.SIMD_DIVERGENCE, Note.THREADGROUP_RACE, Note.DEVICE_RACE})


def read_outcome(kernel: str, outcome: runtime.Outcome, memory: Memory, library: Path) -> Report:
    """The report of a launch. Raises KernelCrash, and RuntimeError for a kernel that Metal would not launch."""
    events = tuple(_event(outcome.events[index], memory, library) for index in range(outcome.event_count))
    report = Report(kernel, outcome.threadgroup_memory, events)
    if outcome.stop == runtime.THREADGROUP_MEMORY:
        raise RuntimeError(
            f"kernel {kernel}: threadgroup memory size ({outcome.threadgroup_memory}) exceeds the maximum threadgroup "
            f"memory allowed ({THREADGROUP_LIMIT})"
        )
    if outcome.stop != runtime.FINISHED:
        unending = outcome.stop == runtime.SIGNAL and outcome.signal == signal.SIGURG
        raise KernelCrash(f"kernel {kernel}: {_crash(outcome, memory, report)}", report, unending)
    return report


def _event(raw: runtime.RawEvent, memory: Memory, library: Path) -> Event:
    note = runtime.NOTES[raw.note]
    paired = note in PAIRED
    return Event(
        note,
        raw.thread,
        tuple(raw.group),
        _site(raw.site, raw.access, library),
        _access(raw.access, memory),
        raw.other_thread if paired else None,
        tuple(raw.other_group) if paired else None,
        _site(raw.other_site, raw.other_access, library) if paired else None,
        _access(raw.other_access, memory) if paired else None,
        raw.count,
    )


def _site(site: runtime.RawSite, access: runtime.RawAccess, library: Path) -> Site | None:
    if site.file:
        return Site(site.file.decode(), site.line)
    # What is recorded is the address behind a call.
    return line_of(library, access.code - 1) if access.size else None


def _access(raw: runtime.RawAccess, memory: Memory) -> Access | None:
    if not raw.size:
        return None
    if raw.variable:
        return Access(f"threadgroup variable {raw.variable.decode()}", raw.offset, raw.size, bool(raw.write))
    place = memory.find(raw.address)
    return Access(place.target, place.offset, raw.size, bool(raw.write), place.arguments)


def _crash(outcome: runtime.Outcome, memory: Memory, report: Report) -> str:
    where = f"in threadgroup {tuple(outcome.stopped_group)}"
    if outcome.stop == runtime.STACK:
        return f"a thread needs more than 256 KiB of stack, {where}"
    if outcome.stop == runtime.OUT_OF_BOUNDS:
        return str(report.events[-1])
    if outcome.signal == signal.SIGURG:
        return f"still running at the end of its time, {where}"
    name = signal.Signals(outcome.signal).name
    if outcome.signal in (signal.SIGSEGV, signal.SIGBUS):
        place = memory.find(outcome.fault_address)
        return f"access to memory that is not there, {place.offset} bytes into {place.target}, {where} ({name})"
    return f"stopped by {name}, {where}"
