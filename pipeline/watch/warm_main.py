"""What the warm process runs: a job per line on standard input, lines of JSON on standard output until its result."""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings

from pipeline.numerics.job import Job
from pipeline.own_process import import_for_good


def main() -> None:
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever else prints
    check = import_for_good("pipeline.numerics.check")

    def answer(**what: object) -> None:
        print(json.dumps(what), file=answers)

    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            try:
                print(check.run(Job.from_json(line), lambda stage: answer(stage=stage)).to_json(), file=answers)
            except Exception as error:
                answer(error=f"{type(error).__name__}: {error}")
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if os.WIFSIGNALED(status):
            answer(signal=int(signal.Signals(os.WTERMSIG(status))))
        elif status:
            answer(error=f"exit code {os.waitstatus_to_exitcode(status)}")
