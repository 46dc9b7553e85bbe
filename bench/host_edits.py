"""Times of splitting, surveying and editing host files. Run: python -m bench.host_edits [SOURCE]"""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.edits.host import remove_legacy
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal
from pipeline.open_source import open_source
from pipeline.snapshot import Snapshot
from pipeline.survey import Backend, SurveyRow, survey_snapshot


def main() -> None:
    source = sys.argv[1] if len(sys.argv) > 1 else "pocket"
    tree = open_source(source, Path.cwd()).tree
    snapshot = Snapshot(tree)
    path, text = max(snapshot.host.texts.items(), key=lambda item: len(item[1]))
    _report(f"split {path.rpartition('/')[2]}, {len(text) // 1000} kB", lambda: split(text, path))
    files = [snapshot.host[path] for path in snapshot.host.paths]
    _report(f"evaluate {len(files)} host files", lambda: [file.entries for file in files])
    rows: list[SurveyRow] = []
    _report("survey", lambda: rows.extend(survey_snapshot(snapshot)))
    _report("survey once more", lambda: survey_snapshot(Snapshot(tree)))
    graphs = sorted({row.function for row in rows if row.backend is Backend.GRAPH and not row.shared})
    _report(f"remove each of {len(graphs)} legacy functions", lambda: _remove_each(snapshot, graphs))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB")


def _remove_each(snapshot: Snapshot, functions: list[str]) -> None:
    """Those that other code still calls are refused, after the same work."""
    for function in functions:
        with contextlib.suppress(Refusal):
            remove_legacy(snapshot.host, [function], headers=snapshot.headers)


def _report(what: str, work: Callable[[], object]) -> None:
    start, cpu = time.perf_counter(), time.process_time()
    work()
    print(f"{what:48} {time.perf_counter() - start:6.2f} s, {time.process_time() - cpu:6.2f} s of CPU")


if __name__ == "__main__":
    main()
