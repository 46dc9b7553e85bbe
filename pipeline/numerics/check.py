"""The check in this process: compile, run, report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

from pipeline.errors import PipelineError
from pipeline.findings import CheckResult, Finding, Severity
from pipeline.metal import ShaderError
from pipeline.numerics.builds import compiled
from pipeline.numerics.examine import Examined, examine
from pipeline.numerics.job import Job
from pipeline.numerics.result import CHECK, NumericsResult

NOT_A_MAC = (
    "This ran on a CPU, which is not a Mac: faults of Apple's compiler, fast-math values, memory order between "
    "threadgroups and speed do not show here."
)


def run(job: Job, progress: Callable[[str], None] = lambda text: None) -> NumericsResult:
    """Check one operator here and now; `progress` is told which dtype is at work."""
    torch.set_num_threads(1)
    if job.device == "mps" and not torch.backends.mps.is_available():
        return NumericsResult(CheckResult.not_run(CHECK, "this machine has no MPS device"), {})
    try:
        builds = compiled(job)
    except ShaderError as error:
        line = getattr(error, "lineno", None)
        finding = Finding("numerics/does-not-compile", Severity.ERROR, str(error).splitlines()[0], job.path, line)
        return NumericsResult(CheckResult.from_findings(CHECK, "the kernel does not compile", [finding]), {})
    if not builds.plain.names:
        finding = Finding("numerics/missing-kernel", Severity.ERROR, "the file registers no kernel", job.path)
        return NumericsResult(CheckResult.from_findings(CHECK, "there is nothing to run", [finding]), {})
    try:
        found = examine(job, builds, _headers(job), job.path, progress)
    except PipelineError as error:
        return NumericsResult(CheckResult.not_run(CHECK, str(error)), {})
    return _result(found, job.device)


def _headers(job: Job) -> list[str]:
    """The headers that host and shader share."""
    folders = [Path(each) for each in job.include] or [Path(torch.__file__).parent / "include"]
    files = (path for folder in folders for path in sorted((folder / "ATen/native/mps/kernels").glob("*.h")))
    return [path.read_text() for path in files]


def _result(found: Examined, device: str) -> NumericsResult:
    summary = (
        f"{len(found.launched)} kernels on {len(found.dtypes)} dtypes, {found.runs} runs with {found.samples} OpInfo "
        f"samples, {found.elements} elements compared with torch CPU, {found.masked} not comparable"
    )
    if found.errors:
        summary += f", {found.errors} error inputs refused"
    not_covered = [] if device == "mps" else [NOT_A_MAC]
    if found.idle:
        some = ", ".join(found.idle[:8]) + (", ..." if len(found.idle) > 8 else "")
        not_covered.append(f"{len(found.idle)} registered kernels that no case asks for: {some}")
    if found.unsplit:
        not_covered.append(f"operands of more than 2**31 bytes: {found.unsplit}")
    findings = [each.finding for each in found.reports]
    data = {**asdict(found), "reports": [each.data for each in found.reports]}
    if not found.elements and not any(each.severity is Severity.ERROR for each in findings):
        why = next(iter(found.refused.values()), "no call of it is known")
        return NumericsResult(CheckResult.not_run(CHECK, f"nothing was compared: {why}"), data)
    return NumericsResult(CheckResult.from_findings(CHECK, summary, findings, not_covered), data)
