"""The process that checks one operator: a job on standard input, its result on standard output."""

from __future__ import annotations

import sys
import threading
import warnings
from contextlib import suppress

from pipeline.metal import ShaderError
from pipeline.numerics.builds import compiled
from pipeline.numerics.job import Job
from pipeline.own_process import import_for_good


def main() -> None:
    warnings.filterwarnings("ignore", message="ComplexHalf support is experimental")
    job = Job.from_json(sys.stdin.read())
    # Compiling waits for another process, which leaves this one free to import OpInfo's database.
    warming = threading.Thread(target=_warm, args=(job,), daemon=True)
    warming.start()
    check = import_for_good("pipeline.numerics.check")
    warming.join()
    result = check.run(job, lambda stage: print(stage, file=sys.stderr, flush=True))
    print(result.to_json())


def _warm(job: Job) -> None:
    """Fill the compiler's cache; an error in the shader is left to the check."""
    with suppress(ShaderError):
        compiled(job)
