"""The numerical check: an operator's kernels run on the CPU, or on a Mac, against torch's CPU operator.

Nothing here imports torch: a result that is already known comes back in milliseconds, and a new one is made by a
process of its own, which a crashing kernel cannot take us with.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from pipeline import own_process
from pipeline.errors import PipelineError
from pipeline.findings import CheckResult, Finding, Severity
from pipeline.numerics.job import Job
from pipeline.numerics.result import CHECK, NumericsResult

_KEPT = 500
_LONGEST = 1800  # seconds


def check_numerics(job: Job, *, cache: Path | None = None) -> NumericsResult:
    """Compare an operator's kernels with the CPU for every dtype and flavour they are registered for.

    The result is taken from the folder `cache` when nothing that it depends on has changed; the user's cache folder
    when None. A kernel that crashes is a finding. One that takes the process with it, by writing over what is not its
    own, is run once more where it cannot: then the finding says what it did.
    """
    folder = cache or default_folder()
    entry = folder / f"{job.key()}.json"
    try:
        return NumericsResult.from_json(entry.read_text())
    except (OSError, ValueError, KeyError):
        pass
    result = _in_own_process(job)
    _save(entry, result)
    return result


def default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mps-to-metal" / "numerics"


def _in_own_process(job: Job) -> NumericsResult:
    command = own_process.command("pipeline.numerics.worker")
    root = Path(__file__).parent.parent.parent
    try:
        done = subprocess.run(
            command, input=job.to_json(), capture_output=True, text=True, cwd=root, check=False, timeout=_LONGEST
        )
    except subprocess.TimeoutExpired:
        raise PipelineError(f"the numerical check of {job.operator} did not end within {_LONGEST} s") from None
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return NumericsResult.from_json(lines[-1])
    # While it starts, Python turns the signal into an exit of its own.
    if done.returncode == -signal.SIGINT or done.stderr.endswith("KeyboardInterrupt\n"):
        raise PipelineError(f"the numerical check of {job.operator} was interrupted")
    if done.returncode < 0 and not job.isolated:
        return _in_own_process(replace(job, isolated=True))
    if done.returncode < 0:
        return crashed(job, -done.returncode, next(iter(done.stderr.strip().splitlines()[-1:]), ""))
    error = done.stderr.strip().splitlines()[-1:] or ["no message"]
    raise PipelineError(f"the numerical check of {job.operator} broke: {error[0]}")


def crashed(job: Job, signal: int, stage: str) -> NumericsResult:
    """What a process died of that ran the job; `stage` is what it said last."""
    message = f"{job.operator}: the process died of signal {signal} ({stage or 'before any kernel ran'})"
    finding = Finding("numerics/crash", Severity.ERROR, message, path=job.kernel_path or None)
    return NumericsResult(CheckResult.from_findings(CHECK, "a kernel crashed", [finding]), {})


def _save(entry: Path, result: NumericsResult) -> None:
    """Write atomically, and drop the oldest results beyond some hundred."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=entry.parent, suffix=".part", delete=False) as part:
        part.write(result.to_json())
    Path(part.name).replace(entry)
    by_age = sorted(entry.parent.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in by_age[_KEPT:]:
        old.unlink(missing_ok=True)


def as_json(result: NumericsResult) -> str:
    """For `--json`: the evidence line, its findings and the data."""
    return json.dumps(json.loads(result.to_json()), indent=2)
