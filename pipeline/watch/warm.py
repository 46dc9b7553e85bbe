"""A process that has torch and OpInfo loaded and checks each job in a copy of itself, which a kernel may crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from pipeline import own_process
from pipeline.checks.numerics import crashed
from pipeline.errors import PipelineError
from pipeline.numerics.job import Job
from pipeline.numerics.result import NumericsResult

_ROOT = Path(__file__).parents[2]


class WarmProcess:
    """Ends with the `with` block, and by itself when this process dies. A terminal's Ctrl-C does not reach it."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            own_process.command("pipeline.watch.warm_main"),
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> WarmProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._errors.close()

    def check(self, job: Job) -> NumericsResult:
        """Raises PipelineError where the check itself breaks."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            print(job.to_json(), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise self._broken(job, self._last_error()) from None
        stage = ""
        for line in self._process.stdout:
            answer = json.loads(line)
            if "stage" in answer:
                stage = answer["stage"]
            elif "signal" in answer:
                return crashed(job, answer["signal"], stage)
            elif "error" in answer:
                raise self._broken(job, answer["error"])
            else:
                return NumericsResult.from_json(line)
        raise self._broken(job, self._last_error())

    def _broken(self, job: Job, why: str) -> PipelineError:
        return PipelineError(f"the numerical check of {job.operator} broke: {why}")

    def _last_error(self) -> str:
        self._errors.seek(0)
        return next(iter(reversed(self._errors.read().strip().splitlines())), "no message")
