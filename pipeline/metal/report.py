"""What a launch showed besides its results."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Note(Enum):
    """What can be noticed while a kernel runs."""

    INACTIVE_LANE_READ = "read of a lane that takes no part"
    BARRIER_DIVERGENCE = "a barrier that not all threads reach"
    SIMD_DIVERGENCE = "a simdgroup that is at two functions at once"
    DIVISION_BY_ZERO = "integer division by zero"


@dataclass(frozen=True)
class Site:
    """A place in the shader or a header; `line` is 1-based."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Event:
    """One thing noticed, with the first thread it happened to and how often it happened.

    `thread` is thread_index_in_threadgroup, `threadgroup` its threadgroup_position_in_grid.
    """

    note: Note
    thread: int
    threadgroup: tuple[int, int, int]
    other_thread: int | None
    site: Site | None
    other_site: Site | None
    count: int

    def __str__(self) -> str:
        where = f"{self.site}: " if self.site else ""
        other = f", thread {self.other_thread}" if self.other_thread is not None else ""
        at = f" at {self.other_site}" if self.other_site else ""
        times = f", {self.count} times" if self.count > 1 else ""
        return f"{where}{self.note.value} (thread {self.thread} of threadgroup {self.threadgroup}{other}{at}{times})"


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
    """A kernel was stopped: it touched memory that is not there, or did not end. `report` has what came before."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report
