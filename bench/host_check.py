"""Times of the pocket and of the host check, cold and warm. Run: python -m bench.host_check"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pipeline import pocket
from pipeline.checks.host import check_host
from pipeline.source import OPERATIONS
from pipeline.source_git import open_path

# What a unary operator's migration touches.
_TOUCHED = (f"{OPERATIONS}/UnaryOps.mm", f"{OPERATIONS}/UnaryKernel.mm")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _report("pocket, first build", lambda: pocket.build(root))
        _report("pocket, current", lambda: pocket.build(root))
        tree = open_path(pocket.build(root), "main")
        _report("host check of two files, nothing cached", lambda: check_host(tree, _TOUCHED, root / "cache"))
        for _ in range(3):
            _report("host check of two files, headers precompiled", lambda: check_host(tree, _TOUCHED, root / "cache"))
        [prefix] = (root / "cache").glob("*/prefix.pch")
        print(f"precompiled header {prefix.stat().st_size / 2**20:.0f} MiB")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"largest compiler process {peak / 2**10:.0f} MiB")


def _report(what: str, work: Callable[[], object]) -> None:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    compiler = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{what:48} {seconds:6.2f} s, of which other processes used {compiler:.2f} s of CPU")


if __name__ == "__main__":
    main()
