"""The process that checks one operator: a job on standard input, its result on standard output."""

from __future__ import annotations

import sys
import warnings

from pipeline.numerics.check import run
from pipeline.numerics.job import Job


def main() -> None:
    warnings.filterwarnings("ignore", message="ComplexHalf support is experimental")
    job = Job.from_json(sys.stdin.read())
    result = run(job, lambda stage: print(stage, file=sys.stderr, flush=True))
    print(result.to_json())


if __name__ == "__main__":
    main()
