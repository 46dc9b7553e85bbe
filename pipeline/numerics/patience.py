"""When a session stops: its kernels crash, do not end, or take too long to try every case."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.metal import KernelCrash

_CRASHES = 3
"""After so many the rest of the cases is not tried; after one kernel that does not end, neither."""

_LONGEST = 120.0
"""Seconds of processor time for all launches of a session. The slowest of our kernels takes ten."""


class Patience:
    """Counts crashes, and the time that kernels took."""

    def __init__(self) -> None:
        self._crashes = 0
        self._seconds = 0.0

    @property
    def slow(self) -> bool:
        return self._seconds > _LONGEST

    @property
    def exhausted(self) -> bool:
        return self.slow or self._crashes >= _CRASHES

    def crashed(self, crash: KernelCrash) -> None:
        self._crashes += _CRASHES if crash.unending else 1

    @contextmanager
    def timed(self) -> Iterator[None]:
        before = time.thread_time()
        try:
            yield
        finally:
            self._seconds += time.thread_time() - before
