"""What a launch showed besides its results."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Note(Enum):
    """What can be noticed while a kernel runs. The second group needs a checked compilation."""

    INACTIVE_LANE_READ = "read of a lane that takes no part"
    BARRIER_DIVERGENCE = "barrier that not all threads reach"
    SIMD_DIVERGENCE = "simdgroup at two functions at once"
    DIVISION_BY_ZERO = "integer division by zero"
    ARGUMENT_TOO_SMALL = "argument shorter than what the kernel refers to"

    OUT_OF_BOUNDS = "access outside what is bound"
    OUTSIDE_VIEW = "access to elements that the bound tensor does not have"
    UNWRITTEN_READ = "read of threadgroup memory that nothing was written to"
    THREADGROUP_RACE = "race in threadgroup memory"
    DEVICE_RACE = "race in device memory"
    SHIFT_OUT_OF_RANGE = "shift by a negative count, or by the width or more"
    CONVERSION_OVERFLOW = "conversion of a number that the integer type does not have"
    MISALIGNED = "access that the hardware moves down to a multiple of four bytes"
    INDEX_OUT_OF_BOUNDS = "index past the end of an array"


@dataclass(frozen=True)
class Site:
    """A place in the shader or a header; `line` is 1-based."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Access:
    """A load or store of `size` bytes, `offset` bytes into what `target` names: an argument or a variable.

    `arguments` are the indices of the arguments that have this memory; none for threadgroup memory.
    """

    target: str
    offset: int
    size: int
    write: bool
    arguments: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{'write' if self.write else 'read'} of {self.size} bytes at offset {self.offset} of {self.target}"


@dataclass(frozen=True)
class Event:
    """One thing noticed: the first time it happened, and how often it did.

    `thread` is a thread_index_in_threadgroup, `threadgroup` a threadgroup_position_in_grid. The other thread, site and
    access are those that this one is in conflict with.
    """

    note: Note
    thread: int
    threadgroup: tuple[int, int, int]
    site: Site | None = None
    access: Access | None = None
    other_thread: int | None = None
    other_threadgroup: tuple[int, int, int] | None = None
    other_site: Site | None = None
    other_access: Access | None = None
    count: int = 1

    def __str__(self) -> str:
        parts = [self.note.value]
        if self.access:
            parts.append(str(self.access))
        parts.append(f"by thread {self.thread} of threadgroup {self.threadgroup}")
        if self.other_thread is not None:
            of = (
                ""
                if self.other_threadgroup in (None, self.threadgroup)
                else f" of threadgroup {self.other_threadgroup}"
            )
            verb = f" {'write' if self.other_access.write else 'read'}" if self.other_access else ""
            at = f" at {self.other_site}" if self.other_site else ""
            parts.append(f"against{verb} by thread {self.other_thread}{of}{at}")
        if self.count > 1:
            parts.append(f"{self.count} times")
        return (f"{self.site}: " if self.site else "") + ", ".join(parts)


@dataclass(frozen=True)
class Report:
    """What a launch used and what was noticed. Empty `events` mean that nothing was.

    `threadgroup_memory`: bytes of threadgroup memory that a threadgroup used.
    """

    kernel: str
    threadgroup_memory: int = 0
    events: tuple[Event, ...] = ()

    def has(self, note: Note) -> bool:
        return any(event.note is note for event in self.events)

    def __str__(self) -> str:
        return "\n".join(str(event) for event in self.events)


class KernelCrash(RuntimeError):
    """A kernel was stopped: it touched memory that is not there, or was `unending`. `report` has what came before."""

    def __init__(self, message: str, report: Report, unending: bool = False) -> None:
        super().__init__(message)
        self.report = report
        self.unending = unending
