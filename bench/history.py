"""Time of counting rows over a history. Run: python -m bench.history PATH[@REF] [COMMITS]"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from pipeline.history import History, open_history


def main(spec: str, most: int = 1000) -> None:
    start = time.perf_counter()
    found = open_history(spec, Path())
    print(f"{len(found.moments)} commits listed in {time.perf_counter() - start:.2f} s")
    newest = History(found.label, found.moments[-most:], found.repository)
    start, cpu = time.perf_counter(), time.process_time()
    unread = sum(point.counts is None for point in newest.points())
    wall, used = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"{len(newest.moments)} counted in {wall:.1f} s ({used:.1f} s of CPU here), {unread} unread, {peak:.0f} MiB")


if __name__ == "__main__":
    main(sys.argv[1], *(int(word) for word in sys.argv[2:]))
