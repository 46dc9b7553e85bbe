"""Python's garbage collector, held off where it has nothing to find."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """For reading one big file, or modules, into hundreds of thousands of objects, none of which goes away meanwhile.

    The collector would look for cycles among all of them again and again, which takes longer than reading does. Threads
    may pause it at the same time; it runs again when the first of them is done.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
